"""Cells of the record: data, replayed scores, recorded scores."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import numpy as np
from benchmarks._replay import replay

from unispectral.datasets import fetch
from unispectral.kernels import KernelBank
from unispectral.metrics import clustering_accuracy, normalized_mutual_info, purity

METRICS = ("ACC", "NMI", "Purity")


@lru_cache(maxsize=1)
def bank_and_classes(data_home: Path, name: str) -> tuple[KernelBank, np.ndarray]:
    data = fetch(name, data_home=data_home, download=False)
    return KernelBank(data.data, "paper"), np.asarray(data.target)


@lru_cache(maxsize=1)
def record(folder: Path) -> dict:
    return json.loads((folder / "recorded_baselines.json").read_text())["datasets"]


def recorded_mean(cell: dict) -> np.ndarray:
    return np.array([cell["mean"][metric] for metric in METRICS])


def replayed_mean(method: str, kernels, classes: np.ndarray, **settings) -> np.ndarray:
    """Mean scores over the 20 repeats."""
    runs = replay(method, kernels, len(np.unique(classes)), **settings)
    return np.mean(
        [
            (
                clustering_accuracy(classes, labels),
                normalized_mutual_info(classes, labels),
                purity(classes, labels),
            )
            for labels in runs
        ],
        axis=0,
    )


def last_digit_noise(K: np.ndarray, seed: int) -> np.ndarray:
    """The kernel with symmetric noise of the size of rounding."""
    noise = np.random.default_rng(seed).standard_normal(K.shape)
    return K * (1.0 + 1e-16 * (noise + noise.T))

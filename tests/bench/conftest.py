"""Small studies that take a second, and a store that has their results."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from unispectral.bench import (
    Column,
    Store,
    Study,
    StudyDataset,
    StudyMethod,
    Surface,
    run,
)

XSS = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'


class Called(NamedTuple):
    """What became of a command."""

    exit_code: int | str | None
    output: str


def call(*arguments: str) -> Called:
    """``unispectral bench`` as it is typed."""
    from unispectral.cli._app import run as run_command

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code: int | str | None = run_command(["bench", *arguments])
        except SystemExit as end:
            code = end.code
    return Called(code, said.getvalue())


def small_study(folder: Path) -> Study:
    """Three kinds of methods, a failure, a reduction, a surface; a second or two."""
    rng = np.random.default_rng(0)
    blobs = np.concatenate([rng.normal(m, 0.6, size=(15, 3)) for m in (0.0, 3.0, 6.0)])
    truth = np.repeat(["a", "b", "c"], 15)
    np.savez(folder / "blobs.npz", X=blobs, y=truth)
    return Study(
        "tiny",
        datasets=[
            "iris",
            StudyDataset("blobs", file=str(folder / "blobs.npz"), truth="y"),
            "wine",
        ],
        methods=[
            StudyMethod(
                "k-means",
                "sklearn.cluster.KMeans",
                parameters={"n_init": 1},
                repeats=3,
                columns=(
                    Column("k-means"),
                    Column("k-means", ("paper",), repeats="objective"),
                ),
            ),
            StudyMethod(
                "SC",
                "sklearn.cluster.SpectralClustering",
                input="kernel",
                kernel_parameter="affinity",
                kernels=("gaussian_0.1", "gaussian_1"),
                columns=(
                    Column("SC", ("paper",)),
                    Column("SC-m", ("paper",), kernels="mean"),
                ),
            ),
            StudyMethod(
                "agglomerative",
                "sklearn.cluster.AgglomerativeClustering",
                grid={"linkage": ["ward", "average"], "compute_full_tree": [True, False]},
                columns=(Column("agglomerative", ("paper",)),),
            ),
            StudyMethod(
                "broken",
                "sklearn.cluster.KMeans",
                parameters={"init": "nonsense"},
                reduced=(
                    {"datasets": ["blobs", "wine"], "reason": "once is enough", "skip": True},
                ),
            ),
        ],
        title="A tiny study",
        metrics=("accuracy", "nmi", "purity"),
        time_limit=60.0,
        surfaces=(Surface("agglomerative", "linkage", "compute_full_tree"),),
    )


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return small_study(tmp_path_factory.mktemp("blobs"))


@pytest.fixture(scope="session")
def ran(tiny: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the results of the tiny study."""
    path = tmp_path_factory.mktemp("ran") / "results.jsonl"
    with Store(path) as store:
        run(tiny, store, processes=2, command="unispectral bench --study tiny.toml")
    return path

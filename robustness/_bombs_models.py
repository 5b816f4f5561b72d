"""Saved models whose meaning is large."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from robustness._bombs import BOMBS
from robustness._bombs_arrays import npy_file, saved_array, zip_file


@cache
def _model() -> tuple[dict[str, Any], dict[str, bytes]]:
    from robustness._damaged import valid

    with zipfile.ZipFile(io.BytesIO(valid("model"))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("model.json")), members


def _changed(change: Callable[[dict[str, Any], dict[str, bytes]], None]) -> bytes:
    manifest, members = _model()
    manifest, members = json.loads(json.dumps(manifest)), dict(members)
    change(manifest, members)
    return zip_file({"model.json": json.dumps(manifest).encode(), **members})


def _model_bomb(kind: str) -> Callable[[Callable[[dict, dict, int], None]], Any]:
    def add(change: Callable[[dict, dict, int], None]) -> Any:
        BOMBS["model.npz", kind] = lambda factor: _changed(
            lambda manifest, members: change(manifest, members, factor)
        )
        return change

    return add


@_model_bomb("one long text")
def _(manifest: dict, members: dict, factor: int) -> None:
    texts = ["a" * 10 ** min(factor + 1, 5)] + [""] * (5_000 * factor - 1)
    manifest["fitted"]["names_"] = {"$strings": texts, "as": "str", "shape": [len(texts)]}


@_model_bomb("a false shape of texts")
def _(manifest: dict, members: dict, factor: int) -> None:
    manifest["fitted"]["names_"] = {"$strings": [""], "shape": [10 ** (3 * factor)]}


@_model_bomb("deep values")
def _(manifest: dict, members: dict, factor: int) -> None:
    value: Any = 1
    for _ in range(min(10 * factor, 900)):
        value = [value]
    manifest["fitted"]["deep_"] = value


@_model_bomb("many empty lists")
def _(manifest: dict, members: dict, factor: int) -> None:
    manifest["fitted"]["many_"] = [[] for _ in range(10 ** min(factor, 6))]


@_model_bomb("many pairs")
def _(manifest: dict, members: dict, factor: int) -> None:
    manifest["fitted"]["many_"] = {"$map": [[i, {}] for i in range(10 ** min(factor, 5))]}


@_model_bomb("a long number")
def _(manifest: dict, members: dict, factor: int) -> None:
    manifest["fitted"]["n_iter_"] = 10 ** min(10**factor, 4_000)


@_model_bomb("a large number")
def _(manifest: dict, members: dict, factor: int) -> None:
    for name in ("n_features_in_", "n_clusters_"):
        manifest["fitted"][name] = 10 ** (3 * factor)


@_model_bomb("a large parameter")
def _(manifest: dict, members: dict, factor: int) -> None:
    manifest["params"]["n_clusters"] = 10 ** (3 * factor)


@_model_bomb("zeros")
def _(manifest: dict, members: dict, factor: int) -> None:
    members["fitted.labels_.npy"] = saved_array(np.zeros(10 ** min(factor + 1, 7), np.int32))


@_model_bomb("a false shape")
def _(manifest: dict, members: dict, factor: int) -> None:
    members["fitted.labels_.npy"] = npy_file((10 ** (3 * factor),), "<i4")


@_model_bomb("empty items")
def _(manifest: dict, members: dict, factor: int) -> None:
    members["fitted.labels_.npy"] = npy_file((10 ** (2 * factor),), "|S0")


@_model_bomb("a wide graph")
def _(manifest: dict, members: dict, factor: int) -> None:
    graph = manifest["fitted"].get("graph_", {})
    graph["shape"] = [10 ** (2 * factor)] * 2


@_model_bomb("many members")
def _(manifest: dict, members: dict, factor: int) -> None:
    for i in range(100 * factor):
        members[f"a{i}.npy"] = saved_array(np.zeros(3))


@_model_bomb("one array everywhere")
def _(manifest: dict, members: dict, factor: int) -> None:
    members["big.npy"] = saved_array(np.zeros(10**5))
    manifest["fitted"]["many_"] = [{"$array": "big"} for _ in range(1_000 * factor)]

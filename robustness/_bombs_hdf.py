"""HDF5 and AnnData files whose meaning is large."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from robustness._bombs import BOMBS, add_bomb


def _hdf(fill: Callable[[Any], None], **options: Any) -> bytes:
    import h5py

    made = io.BytesIO()
    with h5py.File(made, "w", **options) as file:
        fill(file)
    return made.getvalue()


def _hdf_bomb(kind: str) -> Callable[[Callable[[Any, int], None]], Any]:
    def add(fill: Callable[[Any, int], None]) -> Any:
        BOMBS["h5", kind] = lambda factor: _hdf(lambda file: fill(file, factor))
        return fill

    return add


@_hdf_bomb("values that are not stored")
def _(file: Any, factor: int) -> None:
    file.create_dataset("X", shape=(10 ** (2 * factor), 3), dtype="f8", chunks=(100, 3))


@_hdf_bomb("packed zeros")
def _(file: Any, factor: int) -> None:
    file.create_dataset(
        "X", data=np.zeros((10 ** min(factor + 1, 6), 3)), compression="gzip", chunks=True
    )


@_hdf_bomb("a chunk of all")
def _(file: Any, factor: int) -> None:
    rows = 10 ** min(factor + 1, 6)
    file.create_dataset("X", data=np.zeros((rows, 8)), compression="gzip", chunks=(rows, 8))


@_hdf_bomb("deep groups")
def _(file: Any, factor: int) -> None:
    group = file
    for _ in range(3**factor):
        group = group.create_group("g")
    group["X"] = np.ones((3, 2))


@_hdf_bomb("a group in itself")
def _(file: Any, factor: int) -> None:
    file["X"] = np.ones((3, 2))
    group = file.create_group("g")
    for i in range(factor):
        group[f"again{i}"] = file["/"]


@_hdf_bomb("many data sets")
def _(file: Any, factor: int) -> None:
    for i in range(100 * factor):
        file[f"d{i}"] = np.ones((2, 2))


@_hdf_bomb("links to one data set")
def _(file: Any, factor: int) -> None:
    file["X"] = np.ones((10_000, 8))
    for i in range(100 * factor):
        file[f"x{i}"] = file["X"]


@_hdf_bomb("an attribute")
def _(file: Any, factor: int) -> None:
    file["X"] = np.ones((3, 2))
    file["X"].attrs["a"] = "a" * min(10 ** (factor + 1), 60_000)


@_hdf_bomb("texts")
def _(file: Any, factor: int) -> None:
    file["X"] = np.ones((3, 2))
    file["t"] = ["a" * 10 ** min(factor, 5)] * 20


def _references(factor: int) -> bytes:
    """An AnnData file in which all rows refer to one stored text."""
    import anndata
    import h5py

    count, size = 200 * factor, 10 ** min(factor + 1, 7)
    made = io.BytesIO()
    names = anndata.AnnData(np.ones((count, 2)))
    names.obs["note"] = [str(i) for i in range(count)]
    with h5py.File(made, "w") as file:
        for part in ("X", "var", "obs"):
            anndata.io.write_elem(file, part, getattr(names, part))
        one = file.create_dataset("one", shape=(1,), dtype=h5py.string_dtype())
        one[0] = "a" * size
        file.flush()
        at = one.id.get_offset()
        reference = made.getvalue()[at : at + 16]
        attributes = dict(file["obs/note"].attrs)
        del file["obs/note"]
        many = file.create_dataset(
            "obs/note", (count,), h5py.string_dtype(), chunks=(count,), compression="gzip"
        )
        many.id.write_direct_chunk((0,), zlib.compress(reference * count))
        many.attrs.update(attributes)
    return made.getvalue()


BOMBS["h5ad", "references to one text"] = _references
BOMBS["h5ad.gz", "references to one text"] = lambda factor: gzip.compress(_references(factor))


@add_bomb("h5ad", "a sparse matrix")
def _(factor: int) -> bytes:
    import anndata

    def fill(file: Any) -> None:
        data = anndata.AnnData(np.ones((4, 2)))
        anndata.io.write_elem(file, "obs", data.obs)
        anndata.io.write_elem(file, "var", data.var)
        group = file.create_group("X")
        group.attrs.update(
            {"encoding-type": "csr_matrix", "encoding-version": "0.1.0",
             "shape": np.array([4, 10 ** (2 * factor)])}
        )  # fmt: skip
        group["data"], group["indices"] = np.ones(2), np.array([0, 1])
        group.create_dataset("indptr", (10 ** min(2 * factor, 9),), "i8", chunks=(100,))

    return _hdf(fill)

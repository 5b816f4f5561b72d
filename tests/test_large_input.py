"""Fits from memory maps and from files in row blocks are those of the array."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from unispectral import SCSK
from unispectral.tables import open_rows


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return load_digits().data[:400].astype(np.float32)


@pytest.fixture(scope="module")
def model(X) -> SCSK:
    return SCSK(10, whiten=None).fit(X)


def test_a_memory_map_is_fitted_without_being_changed(X, model, tmp_path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    np.testing.assert_array_equal(SCSK(10, whiten=None).fit(mapped).labels_, model.labels_)
    np.testing.assert_array_equal(np.load(path), X)


@pytest.mark.parametrize("kind", ["npy", "parquet", "hdf5", "zarr"])
def test_files_are_fitted_and_predicted_in_blocks(kind, X, model, tmp_path) -> None:
    path = tmp_path / f"x.{'h5' if kind == 'hdf5' else kind}"
    if kind == "npy":
        np.save(path, X)
    elif kind == "parquet":
        pd = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        pd.DataFrame(X, columns=[f"p{i}" for i in range(64)]).to_parquet(path)
    elif kind == "hdf5":
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            file["x"] = X
    else:
        zarr = pytest.importorskip("zarr")
        zarr.save_array(str(path), X)
    with open_rows(path, format=kind) as rows:
        fitted = SCSK(10, whiten=None).fit(rows)
        np.testing.assert_array_equal(fitted.labels_, model.labels_)
        streamed = [model.predict(block) for block in rows.iter_blocks(150)]
    assert [len(part) for part in streamed] == [150, 150, 100]
    assert (np.concatenate(streamed) == model.labels_).mean() >= 0.99


def test_rows_cannot_be_an_array_without_reading(X, tmp_path) -> None:
    np.save(tmp_path / "x.npy", X)
    with open_rows(tmp_path / "x.npy") as rows:
        np.testing.assert_array_equal(np.asarray(rows), X)
        with pytest.raises(ValueError, match="copy=False"):
            np.array(rows, copy=False)

"""The table of data sets says what the reference says and what the files hold."""

from __future__ import annotations

import os

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from unispectral import datasets
from unispectral.datasets._fetch import read_views
from unispectral.datasets._registry import DATASETS

NAMES = ["yale", "jaffe", "orl", "ar", "coil20", "binary_alphadigits", "tr11", "tr41", "tr45"]
NAMES += ["tdt2"]
VIEWS = ["msrcv1", "3sources", "bbcsport", "ngs", "bbc", "webkb", "hw2sources"]


def files(names=None):
    rows = [DATASETS[name] for name in names or DATASETS]
    return {f.name: f for row in rows for f in (row.file, row.raw_file, *row.more) if f}


def test_names():
    assert datasets.list_datasets() == [*NAMES, "mnist", *VIEWS]
    for name in datasets.list_datasets():
        fetcher = getattr(datasets, f"fetch_{name}")
        assert fetcher.__name__ == f"fetch_{name}"
        assert fetcher.__doc__.startswith(DATASETS[name].title)
        assert datasets.dataset_info(name.upper()).name == name


def test_every_origin_is_https_at_a_fixed_commit():
    assert all(file.url.startswith("https://") for file in files().values())
    for file in files([*NAMES, *VIEWS]).values():
        assert file.url.startswith("https://raw.githubusercontent.com/")
        assert file.url.endswith(file.name)
        assert any(len(part) == 40 for part in file.url.split("/"))


def test_checksums_are_those_of_the_reference(reference):
    lines = (reference / "data.sha256").read_text().splitlines()
    recorded = dict(reversed(line.split()) for line in lines)
    assert set(files([*NAMES, "mnist"])) == set(recorded)
    for name, file in files(NAMES).items():
        assert file.sha256 == recorded[name]


def test_unknown_name():
    with pytest.raises(ValueError, match=r"name must be one of yale, .*, but is 'usps'"):
        datasets.fetch("usps")
    with pytest.raises(ValueError, match="but is 3"):
        datasets.dataset_info(3)


@pytest.fixture
def views_home():
    folder = os.environ.get("UNISPECTRAL_VIEWS")
    if not folder:
        pytest.skip("UNISPECTRAL_VIEWS does not name a folder here")
    return folder


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_tables_of_the_same_samples(views_home, name):
    row = DATASETS[name]
    bunch = datasets.fetch(name, data_home=views_home, download=False)
    assert {view: table.shape[1] for view, table in bunch.views.items()} == row.views
    assert {len(table) for table in bunch.views.values()} == {len(bunch.target)} == {row.shape[0]}
    assert sum(row.views.values()) == row.shape[1]
    assert np.array_equal(np.unique(bunch.target), np.arange(row.n_classes))
    assert all(np.isfinite(table).all() for table in bunch.views.values())
    assert f"in {len(row.views)} views" in bunch.DESCR


def test_views_from_either_orientation(tmp_path):
    """Samples in rows or in columns, classes in a vector or in a cell."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(6, 4)), rng.normal(size=(6, 9))
    y = np.array([3, 3, 5, 5, 7, 7])
    cell = np.empty((1, 2), dtype=object)
    cell[0, 0], cell[0, 1] = first, sp.csc_matrix(second.T)
    labels = np.empty((1, 1), dtype=object)
    labels[0, 0] = y
    for names in ({"X": cell, "Y": y}, {"data": cell, "truelabel": labels}):
        scipy.io.savemat(tmp_path / "views.mat", names)
        tables, target = read_views(tmp_path / "views.mat")
        np.testing.assert_array_equal(target, [0, 0, 1, 1, 2, 2])
        for found, expected in zip(tables, (first, second), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", NAMES)
def test_content(data_home, name):
    row = DATASETS[name]
    bunch = datasets.fetch(name, data_home=data_home, download=False)
    assert bunch.data.shape == row.shape
    assert bunch.data.dtype == np.float64
    assert sp.issparse(bunch.data) == (name.startswith("t"))
    assert np.array_equal(np.unique(bunch.target), np.arange(row.n_classes))
    assert len(bunch.target_names) == row.n_classes
    assert bunch.frame is None
    assert bunch.name == name
    assert row.citation in bunch.DESCR
    if name not in ("coil20", "binary_alphadigits"):
        lengths = sp.linalg.norm(bunch.data, axis=1) if sp.issparse(bunch.data) else None
        lengths = np.linalg.norm(bunch.data, axis=1) if lengths is None else lengths
        np.testing.assert_allclose(lengths, 1.0, atol=1e-10)


@pytest.mark.parametrize("name", ["yale", "orl", "jaffe", "ar"])
def test_preprocessing_follows_from_the_raw_pixels(data_home, name):
    raw = datasets.fetch(name, data_home=data_home, raw=True, download=False)
    assert raw.data.max() > 200
    expected = raw.data
    if name in ("yale", "orl"):
        expected = (expected - expected.mean(axis=0)) / expected.std(axis=0)
    expected = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    prepared = datasets.fetch(name, data_home=data_home, download=False)
    np.testing.assert_allclose(prepared.data, expected, atol=1e-14)
    np.testing.assert_array_equal(prepared.target, raw.target)
    assert "none (raw)" in raw.DESCR


@pytest.mark.parametrize("name", ["coil20", "binary_alphadigits"])
def test_sets_without_preprocessing(data_home, name):
    raw = datasets.fetch(name, data_home=data_home, raw=True)
    np.testing.assert_array_equal(raw.data, datasets.fetch(name, data_home=data_home).data)


@pytest.mark.parametrize("name", ["tr11", "tr41", "tr45"])
def test_raw_text_is_not_public(name):
    with pytest.raises(ValueError, match=f"raw=True .* '{name}': only its preprocessed file"):
        datasets.fetch(name, raw=True)


def test_tdt2_counts_and_weights(data_home):
    raw = datasets.fetch("tdt2", data_home=data_home, raw=True)
    counts = raw.data
    assert counts.max() == 52
    assert np.array_equal(counts.data, np.round(counts.data))
    sizes = np.bincount(raw.target)
    assert sizes[0] == 1844
    assert sizes[-1] == 52
    documents = np.diff(sp.csc_array(counts).indptr)
    assert (documents == 0).sum() == 678
    row = counts[[17]].toarray().ravel()
    words = np.flatnonzero(row)
    expected = np.zeros(counts.shape[1])
    expected[words] = (1 + np.log(row[words])) * np.log(len(raw.target) / documents[words])
    expected /= np.linalg.norm(expected)
    weights = datasets.fetch("tdt2", data_home=data_home).data[[17]].toarray().ravel()
    np.testing.assert_allclose(weights, expected, atol=1e-14)


def test_images_stand_upright(data_home):
    bunch = datasets.fetch("ar", data_home=data_home, raw=True)
    assert bunch.images.shape == (840, 32, 24)
    stored = scipy.io.loadmat(data_home / "AR_840n_768d_120c.mat")
    assert bunch.image_shape == (stored["im_height"].item(), stored["im_width"].item())
    np.testing.assert_array_equal(bunch.images[5], bunch.data[5].reshape(32, 24, order="F"))
    # In the right order neighbouring pixels are alike; in the wrong one faces turn into noise.
    for name in ("yale", "jaffe", "orl", "ar", "coil20", "binary_alphadigits"):
        images = datasets.fetch(name, data_home=data_home, raw=True).images
        n, height, width = images.shape
        wrong = images.transpose(0, 2, 1).reshape(n, -1).reshape(n, height, width)
        if height != width:
            roughness = [np.abs(np.diff(i, axis=1)).mean() for i in (images, wrong)]
            assert roughness[0] < 0.7 * roughness[1]
    assert datasets.fetch("tr11", data_home=data_home).images is None


def test_digits_and_letters_have_their_names(data_home):
    bunch = datasets.fetch("binary_alphadigits", data_home=data_home)
    assert "".join(bunch.target_names) == "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    # An "I" is a stroke in the middle, a "0" has a hole there.
    mean = [bunch.images[bunch.target == k].mean(axis=0) for k in range(36)]
    assert mean[18][8:12, 6:10].mean() > 0.25 + mean[0][8:12, 6:10].mean()


def test_mnist(data_home):
    bunch = datasets.fetch_mnist(data_home=data_home, download=False)
    assert bunch.data.shape == (70_000, 784)
    assert bunch.data.dtype == np.float32
    assert (bunch.data.min(), bunch.data.max()) == (0, 255)
    # The sizes of the classes that the authors give, training and test images together.
    expected = [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]
    np.testing.assert_array_equal(np.bincount(bunch.target), expected)
    assert bunch.target[:5].tolist() == [5, 0, 4, 1, 9]
    assert bunch.target[60_000:60_005].tolist() == [7, 2, 1, 0, 4]
    # A "1" is a stroke from top to bottom, a "0" has a hole in the middle.
    means = [bunch.images[bunch.target == digit].mean(axis=0) for digit in (0, 1)]
    assert means[1][6:22, 13:15].mean() > 100
    assert means[0][12:16, 13:15].mean() < 30
    assert np.shares_memory(bunch.images, bunch.data)
    assert "10 classes" in bunch.DESCR

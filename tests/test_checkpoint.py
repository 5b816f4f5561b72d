"""Fits that are killed and started again find the labels of those that were not."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from unispectral import SCMK, SCSK
from unispectral._checkpoint import Checkpoint
from unispectral._progress import listening

#: A fit that kills itself, as a reboot or the out-of-memory killer would.
_KILLED = """
import os, signal, sys
import numpy as np
from unispectral import SCMK, SCSK
from unispectral._progress import listening

X = np.load(sys.argv[1])
estimator = eval(sys.argv[3])

def strike(stage, done, total, note):
    if (stage, done) == (sys.argv[4], int(sys.argv[5])):
        os.kill(os.getpid(), signal.SIGKILL)

with listening(strike):
    estimator.set_params(checkpoint=sys.argv[2]).fit(X)
"""


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return load_digits().data[:600].astype(np.float32)


@pytest.mark.parametrize(
    ("estimator", "stage", "done"),
    [
        ("SCSK(10, whiten=None)", "passes", 1),  # only the candidates are kept
        ("SCSK(10, whiten=None, tol=0)", "passes", 3),
        ("SCSK('auto', gamma=0.1, max_iter=3, tol=0)", "passes", 2),
        ("SCMK(10, kernels=['gaussian', 'linear'])", "geometries", 2),
        ("SCSK.paper(10, max_iter=6, tol=0)", "descent", 3),
        ("SCMK.paper(10, solver='local', alpha=0.5, max_iter=4, tol=0)", "descent", 2),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_killed_fit_is_taken_up(estimator, stage, done, X, tmp_path) -> None:
    np.save(tmp_path / "x.npy", X)
    path = tmp_path / "fit.npz"
    command = [sys.executable, "-W", "ignore", "-c", _KILLED, str(tmp_path / "x.npy"), str(path)]
    killed = subprocess.run([*command, estimator, stage, str(done)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert path.exists()
    model = eval(estimator)
    seen: list[tuple[str, int]] = []
    with listening(lambda stage, done, total, note: seen.append((stage, done))):
        model.set_params(checkpoint=path).fit(X)
    whole = eval(estimator).fit(X)
    np.testing.assert_array_equal(model.labels_, whole.labels_)
    np.testing.assert_array_equal(model.embedding_, whole.embedding_)
    np.testing.assert_array_equal(model.objective_, whole.objective_)
    assert not path.exists()
    if done > 1 and stage != "geometries":
        assert (stage, done - 1) not in seen  # what was kept is not computed again


def test_candidates_are_not_searched_twice(X, tmp_path, monkeypatch) -> None:
    from unispectral.labelfree._geometry import KernelGeometry

    class Stopped(Exception):
        pass

    def stop(stage: str, done: int, total: int | None, note: str) -> None:
        if stage == "passes":
            raise Stopped

    model = SCSK(10, whiten=None, checkpoint=str(tmp_path / "fit.npz"))
    with listening(stop), pytest.raises(Stopped):
        model.fit(X)

    def refuse(*_: object) -> None:
        raise AssertionError("the candidates were kept")

    monkeypatch.setattr(KernelGeometry, "nearest", refuse)
    labels = model.fit(X).labels_
    monkeypatch.undo()
    np.testing.assert_array_equal(labels, SCSK(10, whiten=None).fit(X).labels_)


def test_the_checkpoint_of_another_fit_is_refused(X, tmp_path) -> None:
    path = tmp_path / "fit.npz"
    kept = Checkpoint(path, "of something else")
    kept.save("pass", {"P": np.ones(3)}, np.random.default_rng(0))
    before = path.read_bytes()
    with pytest.raises(ValueError, match="other samples or parameters"):
        SCSK(10, checkpoint=path).fit(X)
    assert path.read_bytes() == before
    path.write_text("a shopping list")
    with pytest.raises(ValueError, match="no checkpoint"):
        SCSK(10, checkpoint=path).fit(X)
    with pytest.raises(ValueError, match="solver='alm'"):
        SCSK.paper(10, solver="alm", checkpoint=tmp_path / "new.npz").fit(X[:50])


def test_a_failed_write_leaves_the_last_state(tmp_path, monkeypatch) -> None:
    path = tmp_path / "fit.npz"
    kept = Checkpoint(path, "mine")
    rng = np.random.default_rng(3)
    kept.save("pass", {"P": np.ones(3)}, rng)

    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="no space"):
        kept.save("pass", {"P": np.zeros(3)}, rng)
    again = Checkpoint(path, "mine").load("pass", np.random.default_rng(0))
    assert again is not None
    assert again["P"].tolist() == [1, 1, 1]
    assert [file.name for file in Path(tmp_path).iterdir()] == ["fit.npz"]


def test_a_fitted_model_with_a_checkpoint_is_saved(X, tmp_path) -> None:
    from unispectral.persistence import load_model, save_model

    model = SCMK(10, whiten=None, checkpoint=tmp_path / "fit.npz").fit(X[:200])
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.labels_, model.labels_)

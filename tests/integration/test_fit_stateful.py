"""Fit, Ctrl-C at any report of progress, fit again, predict, save, kill, change and load.

In any order: a fitted model is always the one that a fresh fit gives, and a file is always whole.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from robustness.model_fuzz import FuzzCase, _forms, mutated
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from unispectral import SCMK, SCSK, UnifiedSpectralClustering, load_model, save_model
from unispectral.baselines import SC
from unispectral.persistence import ModelFileError

SETTINGS = settings(
    max_examples=12,
    phases=(Phase.generate,),  # finding the shortest failure takes minutes
    stateful_step_count=10,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
MODELS = (
    UnifiedSpectralClustering(3),
    UnifiedSpectralClustering("auto", kernels=["linear", "gaussian"]),
    SCSK(3, kernel="gaussian"),
    SCSK(3, solver="exact"),
    SCMK(3, kernels=["linear", "gaussian"], solver="local"),
)


def table(number: int) -> np.ndarray:
    """Data sets of other sizes and widths."""
    rng = np.random.default_rng(number)
    n, d = 24 + 6 * number, 2 + number
    return rng.normal(size=(n, d)) + 5.0 * (np.arange(n) % 3)[:, None]


@cache
def fresh(model: int, data: int) -> Any:
    return clone(MODELS[model]).fit(table(data))


class Stop:
    """Listens to a fit and interrupts it at one of its reports."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, *told: object) -> None:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


class Fits(RuleBasedStateMachine):
    """One estimator of each kind, and the data that it is fitted to."""

    def __init__(self) -> None:
        super().__init__()
        self.models = [clone(model) for model in MODELS]
        self.fitted: dict[int, int] = {}

    @rule(model=st.integers(0, len(MODELS) - 1), data=st.integers(0, 2))
    def fit(self, model: int, data: int) -> None:
        self.models[model].set_params(verbose=0).fit(table(data))
        self.fitted[model] = data

    @rule(model=st.integers(0, len(MODELS) - 1), data=st.integers(0, 2), at=st.integers(0, 12))
    def interrupted_fit(self, model: int, data: int, at: int) -> None:
        try:
            self.models[model].set_params(verbose=Stop(at)).fit(table(data))
        except KeyboardInterrupt:
            pass
        else:  # it had no more to report
            self.fitted[model] = data
        self.models[model].set_params(verbose=0)

    @rule(model=st.integers(0, len(MODELS) - 1))
    def start_anew(self, model: int) -> None:
        self.models[model] = clone(self.models[model])
        self.fitted.pop(model, None)

    @invariant()
    def every_model_is_that_of_a_fresh_fit(self) -> None:
        for number, model in enumerate(self.models):
            data = self.fitted.get(number)
            if data is None:
                with pytest.raises(NotFittedError):
                    model.predict(table(0))
                continue
            same = fresh(number, data)
            new = table(data)[::4] + 0.1
            np.testing.assert_array_equal(model.labels_, same.labels_)
            np.testing.assert_array_equal(model.predict(new), same.predict(new))
            assert model.n_features_in_ == same.n_features_in_


def test_an_interrupted_baseline_is_as_before() -> None:
    model = SC(3, random_state=0)
    with patch.object(SC, "_cluster", side_effect=KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            model.fit(table(1))
        assert not hasattr(model, "n_features_in_")
    labels = model.fit(table(0)).labels_
    with (
        patch.object(SC, "_cluster", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(table(1))
    assert model.n_features_in_ == 2
    assert model.labels_ is labels


KILLED = """
import os, signal, sys
from unispectral._files import atomic_path
with atomic_path(sys.argv[1]) as temporary:
    temporary.write_bytes(b"half a model")
    os.kill(os.getpid(), signal.SIGKILL)
"""


class Files(RuleBasedStateMachine):
    """One file, in which models are saved, and what it must hold."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "model.npz"
        self.content: bytes | None = None
        self.holds: int | None = None
        self.killed = False

    def teardown(self) -> None:
        self.folder.cleanup()

    @rule(model=st.integers(0, len(MODELS) - 1))
    def save(self, model: int) -> None:
        save_model(fresh(model, 0), self.path)
        self.content, self.holds, self.killed = self.path.read_bytes(), model, False

    @rule(model=st.integers(0, len(MODELS) - 1))
    def save_on_a_full_disk(self, model: int) -> None:
        full = OSError(28, "No space left on device")
        with (
            patch("unispectral._files.os.fsync", side_effect=full),
            pytest.raises(OSError, match=r"disk is full.*nothing was written"),
        ):
            save_model(fresh(model, 0), self.path)
        self.killed = False  # every writer clears up after the killed ones

    @rule()
    @precondition(lambda self: os.name == "posix")
    def save_and_be_killed(self) -> None:
        done = subprocess.run([sys.executable, "-c", KILLED, str(self.path)], check=False)
        assert done.returncode == -signal.SIGKILL
        self.killed = True

    @rule(place=st.floats(0, 1, exclude_max=True), by=st.integers(1, 255))
    @precondition(lambda self: self.content)
    def change_a_byte(self, place: float, by: int) -> None:
        changed = bytearray(self.content or b"")
        changed[int(place * len(changed))] ^= by
        self._change(bytes(changed))

    @rule(share=st.floats(0, 1, exclude_max=True))
    @precondition(lambda self: self.content)
    def cut(self, share: float) -> None:
        content = self.content or b""
        self._change(content[: int(share * len(content))])

    @rule(model=st.integers(0, len(MODELS) - 1), seed=st.integers(0, 10**6))
    def change_the_meaning(self, model: int, seed: int) -> None:
        name = list(_forms())[model]
        self._change(mutated(FuzzCase(name, seed))[0])

    def _change(self, content: bytes) -> None:
        self.path.write_bytes(content)
        self.content, self.holds = content, None

    @rule()
    def load(self) -> None:
        if self.content is None:
            with pytest.raises(FileNotFoundError):
                load_model(self.path)
        elif self.holds is not None:
            found, same = load_model(self.path), fresh(self.holds, 0)
            np.testing.assert_array_equal(found.labels_, same.labels_)
            new = table(0)[::4] + 0.1
            np.testing.assert_array_equal(found.predict(new), same.predict(new))
        else:  # a sentence, or a model that can be asked
            with suppress(ModelFileError):
                assert len(load_model(self.path).labels_) > 0

    @invariant()
    def the_file_is_whole_and_alone(self) -> None:
        names = [path.name for path in self.path.parent.iterdir()]
        hidden = [name for name in names if name.startswith(".writing-")]
        assert bool(hidden) == self.killed
        assert sorted(set(names) - set(hidden)) == ["model.npz"] * (self.content is not None)
        if self.content is not None:
            assert self.path.read_bytes() == self.content


for machine in (Fits, Files):
    machine.TestCase.settings = SETTINGS
TestFits = pytest.mark.filterwarnings("ignore")(Fits.TestCase)
TestFiles = pytest.mark.filterwarnings("ignore")(Files.TestCase)

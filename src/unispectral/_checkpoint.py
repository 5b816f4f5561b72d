"""Long fits that survive being killed: what has been computed is kept in a file, and taken up.

A checkpoint holds the candidates of the samples, which take longest to find, and the state after
the last pass. The state of the random generator is kept with each, so that a fit that was killed
and taken up again gives the labels of one that was not.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral._files import atomic_path
from unispectral._version import __version__

__all__ = ["Checkpoint", "checkpoint", "current", "paused"]

_current: ContextVar[Checkpoint | None] = ContextVar("unispectral_checkpoint", default=None)
#: Parameters that change how a fit runs and not what it finds.
_FREE = ("checkpoint", "max_time", "n_jobs", "random_state", "verbose")
_ABOUT = "about"


class Checkpoint:
    """Arrays under names, in one file that is replaced as a whole.

    Parameters
    ----------
    path : str or path-like
    fingerprint : str
        Of the samples and parameters; a file of another fit is refused.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "fit.npz"
    >>> kept = Checkpoint(path, "mine")
    >>> kept.save("pass", {"P": np.ones(2)}, np.random.default_rng(0))
    >>> Checkpoint(path, "mine").load("pass", np.random.default_rng(1))["P"].tolist()
    [1.0, 1.0]
    """

    def __init__(self, path: str | os.PathLike[str], fingerprint: str) -> None:
        self.path = Path(path)
        self.fingerprint = fingerprint
        self._arrays: dict[str, np.ndarray] = {}
        self._states: dict[str, Any] = {}
        self._searches = 0
        if self.path.exists():
            self._read()

    def _read(self) -> None:
        try:
            with np.load(self.path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            about = json.loads(str(arrays.pop(_ABOUT)))
            fingerprint, states = about["fingerprint"], dict(about["states"])
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"checkpoint={str(self.path)!r} is no checkpoint of a fit; name another file, or "
                "remove it."
            ) from error
        if fingerprint != self.fingerprint:
            raise ValueError(
                f"checkpoint={str(self.path)!r} belongs to a fit of other samples or parameters, "
                "or of another version; name another file, or remove it."
            )
        self._arrays, self._states = arrays, states

    def save(self, stage: str, arrays: dict[str, Any], rng: np.random.Generator) -> None:
        """Keep the arrays of a stage, in place of what was kept of it, and where ``rng`` is."""
        for name in [name for name in self._arrays if name.startswith(f"{stage}/")]:
            del self._arrays[name]
        self._arrays |= {f"{stage}/{name}": value for name, value in _flat(arrays).items()}
        self._states[stage] = rng.bit_generator.state
        about = {"fingerprint": self.fingerprint, "states": self._states}
        text = np.array(json.dumps(about, default=_plain))
        with atomic_path(self.path) as temporary, temporary.open("wb") as file:
            np.savez(file, **{_ABOUT: text}, **self._arrays)  # type: ignore[arg-type]

    def load(self, stage: str, rng: np.random.Generator) -> dict[str, Any] | None:
        """What was kept of a stage, or None; ``rng`` is put where it was then."""
        if stage not in self._states:
            return None
        rng.bit_generator.state = self._states[stage]
        prefix = f"{stage}/"
        names = [name for name in self._arrays if name.startswith(prefix)]
        return _nested({name.removeprefix(prefix): self._arrays[name] for name in names})

    def search(self, rng: np.random.Generator, find: Callable[[], np.ndarray]) -> np.ndarray:
        """The candidates of the next geometry: found now, or kept from before."""
        stage = f"candidates {self._searches}"
        self._searches += 1
        kept = self.load(stage, rng)
        if kept is None:
            kept = {"neighbours": find()}
            self.save(stage, kept, rng)
        return kept["neighbours"]

    def remove(self) -> None:
        """Forget everything: the fit is done."""
        self.path.unlink(missing_ok=True)


def current() -> Checkpoint | None:
    """The checkpoint of the fit that is going on here, if it has one."""
    return _current.get()


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Keep nothing of what is computed inside: it is quickly found again."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


@contextlib.contextmanager
def checkpoint(estimator: Any, samples: Any) -> Iterator[None]:
    """Keep what the fit inside computes, where ``checkpoint=`` says; remove it at the end."""
    path = getattr(estimator, "checkpoint", None)
    if path is None:
        yield
        return
    kept = Checkpoint(path, _fingerprint(estimator, samples))
    token = _current.set(kept)
    try:
        yield
    finally:
        _current.reset(token)
    kept.remove()


def _fingerprint(estimator: Any, samples: Any) -> str:
    """A digest of the samples and of the parameters that matter."""
    digest = hashlib.blake2b(digest_size=16)
    params = estimator.get_params(deep=False)
    seed = params.get("random_state")
    chosen = {
        name: getattr(value, "__qualname__", value)  # a function's address is new in each process
        for name, value in sorted(params.items())
        if name not in _FREE
    }
    chosen["random_state"] = seed if isinstance(seed, (int, np.integer)) else "any"
    digest.update(f"{__version__} {type(estimator).__name__} {chosen!r}".encode())
    tables = list(samples.tables)
    if samples.bank is not None:
        tables += [samples.bank.diagonal(r) for r in range(len(samples.bank))]
    for table in tables:
        digest.update(f"{table.shape} {table.dtype}".encode())
        parts = (table.indptr, table.indices, table.data) if sp.issparse(table) else (table,)
        for part in parts:
            for start in range(0, len(part), 65_536):
                digest.update(np.ascontiguousarray(part[start : start + 65_536]).data)
    return digest.hexdigest()


def _flat(arrays: dict[str, Any]) -> dict[str, np.ndarray]:
    """Sparse graphs as their three arrays; what is None is left out."""
    found: dict[str, np.ndarray] = {}
    for name, value in arrays.items():
        if sp.issparse(value):
            for part in ("data", "indices", "indptr"):
                found[f"{name}.{part}"] = getattr(value, part)
        elif value is not None:
            found[name] = np.asarray(value)
    return found


def _nested(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    found: dict[str, Any] = {name: value for name, value in arrays.items() if "." not in name}
    for name in {name.partition(".")[0] for name in arrays if "." in name}:
        parts = tuple(arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
        n = len(parts[2]) - 1
        found[name] = sp.csr_array(parts, shape=(n, n))
    return found


def _plain(value: Any) -> Any:
    """Arrays of a generator's state as lists, which the generator takes as well."""
    return value.tolist() if hasattr(value, "tolist") else str(value)

"""Every file operation and every call that may allocate fails once, one by one, none left out.

The interpreter tells a profile function of every call into C before it happens, and an exception
from that function takes the place of the call. A first run counts the calls, and run i fails the
i-th. Two kinds are told apart:

- *files*: calls of the operating system's file functions and of the methods of open files, in
  whatever module; they fail with EIO.
- *memory*: all calls into C that a line of this library makes, since any but the simplest may
  allocate; they fail with MemoryError. What NumPy and SciPy allocate within a call is that call.

After each fault the files are those from before or those from after, whole; the error is an
OSError, a MemoryError or the library's own; a result that comes all the same is the right one; and
the same action without a fault works and leaves nothing else in the folder.
"""

from __future__ import annotations

import errno
import gc
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from robustness._results import Part, Plan, Result

__all__ = ["ACTIONS", "PARTS", "every_fault"]

_FUNCTIONS = {
    "open", "mkdir", "replace", "rename", "unlink", "remove", "rmdir", "fsync", "chmod", "listdir",
    "scandir", "stat", "lstat", "fstat", "flock", "ftruncate", "utime", "readlink",
}  # fmt: skip
_METHODS = {"write", "read", "readinto", "readline", "seek", "flush", "close", "truncate", "tell"}

#: They look at what is there.
_WITHOUT_MEMORY = {"isinstance", "len", "isfinite"}


def _file_error(called: Any) -> Exception | None:
    """What a call would raise on a failing disk; None where it does not touch the disk."""
    name, owner = called.__name__, type(getattr(called, "__self__", None))
    on_file = name in _METHODS and owner.__module__ == "_io" and owner.__name__ != "BytesIO"
    system = called.__module__ in ("posix", "nt", "_io", "io", "fcntl") and name in _FUNCTIONS
    return OSError(errno.EIO, os.strerror(errno.EIO)) if on_file or system else None


def _memory_error(frame: Any, called: Any) -> Exception | None:
    """What a call would raise without memory; None where it needs none, or is another's."""
    own = str(frame.f_globals.get("__name__", "")).startswith("unispectral")
    return MemoryError("no memory") if own and called.__name__ not in _WITHOUT_MEMORY else None


class Fault:
    """Counts calls of one kind, and fails one of them."""

    def __init__(self, kind: str, at: int | None = None) -> None:
        self.kind, self.at, self.seen = kind, at, 0
        self.where = ""

    def __call__(self, frame: Any, event: str, called: Any) -> None:
        if event != "c_call":
            return
        error = _memory_error(frame, called) if self.kind == "memory" else _file_error(called)
        # The end of a ``with`` allocates nothing itself: what it calls is counted.
        if error is None or called is sys.setprofile or called.__name__ == "__exit__":
            return
        self.seen += 1
        if self.seen == self.at:
            self.where = f"{called.__name__} in {frame.f_code.co_name}"
            raise error  # which also ends the profiling

    def run(self, action: Callable[[], Any]) -> tuple[Any, Exception | None]:
        """What the action gives, or raises."""
        sys.setprofile(self)
        try:
            return action(), None
        except Exception as error:
            # Its frames would keep files and connections open.
            error.__cause__ = error.__context__ = None
            return None, error.with_traceback(None)
        finally:
            sys.setprofile(None)


@dataclass
class Action:
    """Something that reads or writes in a folder.

    Attributes
    ----------
    run : callable(folder)
        Gives what can be compared.
    setup : callable(folder)
        Files that are there before.
    look : callable(folder)
        What its files hold, for those that it writes; None where it writes nothing.
    allowed : tuple
        The errors that a fault may become.
    collect : bool
        Whether what the fault left is collected first: a statement that was cut short keeps its
        connection, and with it the lock, till then.
    """

    run: Callable[[Path], Any]
    setup: Callable[[Path], None] = lambda folder: None
    look: Callable[[Path], Any] | None = None
    allowed: tuple[type[Exception], ...] = (OSError, MemoryError)
    collect: bool = False


def every_fault(name: str, kind: str, plan: Plan) -> Result:
    """Fail each call of one kind in one action; a short run takes every so-many-th."""
    result = Result(f"one by one: {kind}", plan.seed)
    with tempfile.TemporaryDirectory(prefix="robustness-") as base, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        action = ACTIONS[name](Path(base))
        folder = Path(base) / "here"
        # Twice: the first run imports, compiles and fills caches.
        for _ in range(2):
            _fresh(folder, action)
            before = action.look(folder) if action.look else None
            counter = Fault(kind)
            expected, error = counter.run(lambda: action.run(folder))
            if error is not None:
                result.add("failed", name, f"undisturbed: {error!r}")
                return result
        after = action.look(folder) if action.look else None
        names = sorted(path.name for path in folder.iterdir())
        gc.freeze()  # what is there already need not be looked at again and again
        step = max(1, counter.seen // 10) if plan.quick else 1
        for at in range(1, counter.seen + 1, step):
            fault = Fault(kind, at)
            _fresh(folder, action)
            found, error = fault.run(lambda: action.run(folder))
            wrong = _judge(action, found, error, expected)
            if not wrong and action.look is not None:
                there = action.look(folder)
                if there != after and (error is None or there != before):
                    wrong = "the files are neither those from before nor those from after"
            if not wrong:
                if action.collect:
                    gc.collect()
                again = action.run(folder)
                if again != expected or sorted(p.name for p in folder.iterdir()) != names:
                    wrong = "a second run does not put it right"
            result.check(not wrong, f"{name}, call {at} ({fault.where})", wrong)
        gc.unfreeze()
        result.facts[f"calls of {name}"] = counter.seen
    return result


def _fresh(folder: Path, action: Action) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    action.setup(folder)


def _judge(action: Action, found: Any, error: Exception | None, expected: Any) -> str:
    if error is None:
        return "" if found == expected else "a wrong result without an error"
    if isinstance(error, action.allowed):
        return "" if str(error) else "an error without words"
    return f"{type(error).__name__}: {error}"


# ---- What is done -------------------------------------------------------------------------------

X = np.repeat(np.arange(3.0), 12)[:, None] * 5 + np.random.default_rng(0).normal(size=(36, 3))


def _model(seed: int = 0) -> Any:
    from unispectral import UnifiedSpectralClustering

    return UnifiedSpectralClustering(3, n_jobs=1, random_state=seed).fit(X[seed:])


def _labels(path: Path) -> list[int]:
    from unispectral import load_model

    return load_model(path).labels_.tolist()


def _save(base: Path) -> Action:
    from unispectral import save_model

    old, new = _model(1), _model()
    return Action(
        lambda folder: save_model(new, folder / "m.npz"),
        lambda folder: save_model(old, folder / "m.npz"),
        lambda folder: _labels(folder / "m.npz"),
    )


def _load(base: Path) -> Action:
    from unispectral import save_model
    from unispectral.persistence import ModelFileError

    model = _model()
    return Action(
        lambda folder: _labels(folder / "m.npz"),
        lambda folder: save_model(model, folder / "m.npz"),
        allowed=(OSError, MemoryError, ModelFileError),
    )


def _predict(base: Path) -> Action:
    model = _model()
    return Action(lambda folder: model.predict_all(X[::3] + 0.1).labels.tolist())


def _report(base: Path) -> Action:
    from unispectral.report import write_report

    old, new = _model(1), _model()
    return Action(
        lambda folder: write_report(folder / "page.html", new, X, title="new"),
        lambda folder: write_report(folder / "page.html", old, X[1:], title="old"),
        lambda folder: re.sub(
            r'"made":"[^"]*"', "", (folder / "page.html").read_text(encoding="utf-8")
        ),
    )


def _store(base: Path) -> Action:
    """A study is saved, two cells are put, and everything is read again."""
    from unispectral.bench import Store, StoreError, Study, StudyDataset, StudyMethod

    np.savez(base / "d.npz", X=X, y=np.repeat(np.arange(3), 12))
    study = Study(
        "given",
        datasets=[StudyDataset("d", file=str(base / "d.npz"), truth="y")],
        methods=[StudyMethod("k-means", "sklearn.cluster.KMeans", repeats=2)],
    )
    cells = study.cells()
    study = replace(study, datasets=(cells[0].dataset,))  # with its digest: the file is read

    def read(folder: Path) -> Any:
        with Store(folder / "s.jsonl", readonly=True) as store:
            return [
                (key, record.scores) for key, record in sorted(store.records().items())
            ], store.load_study()[0].name

    def write(folder: Path) -> Any:
        with Store(folder / "s.jsonl") as store:
            store.save_study(study, "run")
            for cell in cells:
                answer = {"status": "done", "scores": {"accuracy": 0.5}, "seconds": 1.0}
                store.put(cell, answer)
        return read(folder)

    return Action(write, allowed=(OSError, MemoryError, StoreError), collect=True)


ACTIONS: dict[str, Callable[[Path], Action]] = {
    "save": _save,
    "load": _load,
    "predict": _predict,
    "report": _report,
    "store": _store,
}
PARTS: dict[str, Part] = {
    f"{name}, {kind}": partial(every_fault, name, kind)
    for name in ACTIONS
    for kind in ("files", "memory")
    if (name, kind) != ("predict", "files")  # it has none
}

"""Faults: after each, no half-written file bears its final name, and a rerun gives the result
that an undisturbed run gives."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from robustness._fault_tools import (
    Ended,
    count_operations,
    jumping_clock,
    run_child,
    small_disk,
    unwritable,
)
from robustness._results import Part, Plan, Result
from robustness._writers import Bench, ClusterFiles, OtherFiles, SavedModel, Writer

__all__ = ["PARTS"]


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    """A folder that nobody (the user of that name) may enter but not write to."""
    with tempfile.TemporaryDirectory(prefix="robustness-") as folder:
        os.chmod(folder, 0o755)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield Path(folder)


def _disturb(kind: type[Writer], plan: Plan) -> Result:
    with _scratch_folder() as base:
        return _disturb_in(kind(base), plan)


def _disturb_in(writer: Writer, plan: Plan) -> Result:
    result = Result(f"faults: {writer.title}", plan.seed)
    rng = np.random.default_rng([plan.seed, len(writer.title)])
    reference_folder = Path(tempfile.mkdtemp(dir=writer.base))
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        writer.act(_fresh(writer.base))  # here, so that no child has to load and compile
    ended = run_child(lambda: writer.act(reference_folder))
    reference = writer.content(reference_folder)
    if ended.code != 0 or not reference:
        result.add("failed", "undisturbed run", f"code {ended.code}: {ended.said}")
        return result
    operations = count_operations(lambda: writer.act(_fresh(writer.base)), writer.base / "fresh")
    case = _Case(writer, reference, result)
    for number in range(plan.pick(*writer.kills)):
        at = int(rng.integers(1, operations + 1)) if number % 2 else None
        after = None if at else float(rng.uniform(0.0, 1.5))
        case.kill(at, after, again=bool(rng.integers(2)))
    for _ in range(plan.pick(*writer.others)):
        case.full_disk(int(rng.integers(*writer.disk)))
        case.read_only()
        case.corrupt(rng)
        case.two_runs()
        case.clock(rng)
        if isinstance(writer, ClusterFiles):
            case.broken_pipe()
    result.facts["file operations of an undisturbed run"] = operations
    return result


def _fresh(base: Path) -> Path:
    folder = base / "fresh"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


class _Case:
    """One fault on one writer: disturb, look, rerun, compare."""

    def __init__(self, writer: Writer, reference: dict[str, Any], result: Result) -> None:
        self.writer, self.reference, self.result = writer, reference, result

    def _folder(self) -> Path:
        return _fresh(self.writer.base)

    def _settle(self, folder: Path, name: str, ended: Ended | None = None) -> None:
        """Nothing half-written now, and everything right after a rerun."""
        try:
            there = self.writer.content(folder)
        except Exception as error:
            self.result.add("failed", name, f"half-written: {error!r}")
            return
        odd = [key for key, value in there.items() if self.reference.get(key) != value]
        if odd:
            self.result.add("failed", name, f"half-written under its final name: {odd}")
            return
        if ended is not None and "Traceback" in ended.said:
            self.result.add("failed", name, f"no sentence: {ended.said[-400:]}")
            return
        self._rerun(folder, name)

    def _rerun(self, folder: Path, name: str) -> None:
        ended = run_child(lambda: self.writer.act(folder))
        try:
            now = self.writer.content(folder)
        except Exception as error:
            self.result.add("failed", name, f"rerun: {error!r}")
            return
        good = ended.code == 0 and now == self.reference
        odd = {key for key in {*now, *self.reference} if now.get(key) != self.reference.get(key)}
        self.result.check(
            good, name, f"rerun: code {ended.code}, {odd} differ; {ended.said[-300:]}"
        )

    def kill(self, at: int | None, after: float | None, again: bool) -> None:
        folder = self._folder()
        if again:  # over files that are there already
            run_child(lambda: self.writer.act(folder))
        when = f"at file operation {at}" if at else f"after {after:.3f} s"
        run_child(lambda: self.writer.act(folder), kill_at=at, kill_after=after, folder=folder)
        self._settle(folder, f"kill -9 {when}{', files there before' if again else ''}")

    def full_disk(self, kilobytes: int) -> None:
        folder = self._folder()
        with small_disk(folder, kilobytes) as (place, prepare, how):
            ended = run_child(lambda: self.writer.act(place), prepare=prepare)
            there = self.writer.content(place)
            odd = [key for key, value in there.items() if self.reference.get(key) != value]
            name = f"disk of {kilobytes} kB ({how})"
            told = ended.code == 0 or ("Traceback" not in ended.said and ended.said.strip())
            if odd or not told or (ended.code == 0 and there != self.reference):
                words = f"{odd} half-written, code {ended.code}: {ended.said[-300:]}"
                self.result.add("failed", name, words)
                return
        self._rerun(folder, name)

    def read_only(self) -> None:
        folder = self._folder()
        with unwritable(folder) as prepare:
            ended = run_child(lambda: self.writer.act(folder), prepare=prepare)
        if ended.code == 0 or "Error" not in ended.said:
            self.result.add(
                "failed", "read-only folder", f"code {ended.code}: {ended.said[-300:]}"
            )
            return
        self._settle(folder, "read-only folder", ended)

    def corrupt(self, rng: np.random.Generator) -> None:
        folder = self._folder()
        run_child(lambda: self.writer.act(folder))
        self.writer.corrupt(folder, rng)
        ended = run_child(lambda: self.writer.act(folder))
        if "Move it away" in ended.said:  # results are never written over, so the user is asked
            shutil.rmtree(folder)
            folder.mkdir()
        self._rerun(folder, "corrupt files of an earlier run")

    def two_runs(self) -> None:
        folder = self._folder()

        def both() -> int:
            other = os.fork()
            code = self.writer.act(folder)
            if other == 0:
                sys.stderr.flush()
                os._exit(code)
            others = os.waitstatus_to_exitcode(os.waitpid(other, 0)[1])
            return code or others

        ended = run_child(both)
        refused = "Another run is writing" in ended.said  # a store has one writer at a time
        if ended.code != 0 and not refused:
            words = f"code {ended.code}: {ended.said[-300:]}"
            self.result.add("failed", "two runs in one folder", words)
            return
        self._settle(folder, "two runs in one folder", ended)

    def clock(self, rng: np.random.Generator) -> None:
        folder = self._folder()
        ended = run_child(lambda: self.writer.act(folder), prepare=jumping_clock(rng))
        for path in folder.rglob("*"):
            when = float(rng.uniform(0, 4e9))
            os.utime(path, (when, when))
        if ended.code != 0:
            self.result.add(
                "failed", "clock that jumps", f"code {ended.code}: {ended.said[-300:]}"
            )
            return
        self._settle(folder, "clock that jumps", ended)

    def broken_pipe(self) -> None:
        """A reader that has gone before the labels come."""
        from unispectral.cli._app import run as command

        reader, writer = os.pipe()
        os.close(reader)
        table = str(self.writer.table)
        options = ["-k", "3", "-q", "-o", "-", "--method", "kmeans"]
        ended = run_child(lambda: command(["cluster", table, *options]), stdout=writer)
        os.close(writer)
        good = not ended.killed and "Traceback" not in ended.said and ended.code in (0, 1)
        self.result.check(good, "broken pipe", f"code {ended.code}: {ended.said[-300:]}")


def _cache(plan: Plan) -> Result:
    from robustness import _cache_faults

    with _scratch_folder() as base:
        return _cache_faults.disturb(plan, base)


def _dask_worker(plan: Plan) -> Result:
    """A worker killed in the middle of a fit, each time with another of two workers' moments."""
    result = Result("faults: a Dask worker killed in a fit", plan.seed)
    for number in range(plan.pick(1, 3)):
        command = [sys.executable, "-m", "robustness._killed_worker", str(plan.seed + number)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        words = f"code {done.returncode}: {done.stdout[-100:]} {done.stderr[-300:]}"
        good = done.returncode == 0 and done.stdout.split()[-1:] == ["same"]
        result.check(good, f"fit {number}", words)
    return result


_ON_FORKS: dict[str, Part] = {
    "cluster": partial(_disturb, ClusterFiles),
    "other commands": partial(_disturb, OtherFiles),
    "models": partial(_disturb, SavedModel),
    "bench": partial(_disturb, Bench),
    "cache": _cache,
}
PARTS: dict[str, Part] = {
    **(_ON_FORKS if hasattr(os, "fork") else {}),
    "dask": _dask_worker,
}

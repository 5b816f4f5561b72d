"""Faults: after each, no half-written file bears its final name, and a rerun gives the result
that an undisturbed run gives."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from torture._faulty import (
    Ended,
    count_operations,
    jumping_clock,
    run_child,
    small_disk,
    unwritable,
)
from torture._tally import Plan, Tally

__all__ = ["run"]


def run(plan: Plan) -> Iterator[Tally]:
    """Hurt the writers of files, the benchmark and the cache in every way we know."""
    if not hasattr(os, "fork"):
        return
    with _workshop() as base, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for subject in (ClusterFiles, SavedModel, Bench):
            yield _hurt(subject(base), plan)
        from torture import _cache_faults

        yield from _cache_faults.run(plan, base)


@contextmanager
def _workshop() -> Iterator[Path]:
    """A folder that nobody (the user of that name) may enter but not write to."""
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


class Subject:
    """Something that writes files, and how to tell whether they are what they should be."""

    title = ""
    #: Kilobytes of a disk that is too small, from and to.
    disk = (4, 200)
    #: Faults of each kind in a short and in a full run.
    kills = (4, 40)
    others = (1, 6)

    def __init__(self, base: Path) -> None:
        self.base = base
        self.table = base / "table.csv"
        if not self.table.exists():
            rng = np.random.default_rng(0)
            X = rng.standard_normal((45, 3)) + 8 * np.repeat(np.arange(3), 15)[:, None]
            lines = ["a,b,c", *(",".join(f"{value:.4f}" for value in row) for row in X)]
            self.table.write_text("\n".join(lines) + "\n")

    def act(self, folder: Path) -> int:
        """Write the files into a folder; returns an exit code."""
        raise NotImplementedError

    def content(self, folder: Path) -> dict[str, Any]:
        """What is there, by final name, in a form that can be compared."""
        raise NotImplementedError

    def spoil(self, folder: Path, rng: np.random.Generator) -> None:
        """Damage what an earlier run left."""


class ClusterFiles(Subject):
    title = "the files of the command cluster"

    def act(self, folder: Path) -> int:
        from unispectral.cli._app import run as command

        options = {"-o": "labels.csv", "--model": "model.npz", "--graph": "graph.graphml"}
        options["--report"] = "page.html"
        files = [part for option, name in options.items() for part in (option, str(folder / name))]
        sys.argv = ["unispectral", "cluster"]  # the page prints the command
        return command(["cluster", str(self.table), "-k", "3", "-q", *files])

    def content(self, folder: Path) -> dict[str, Any]:
        from unispectral.persistence import load_model

        found: dict[str, Any] = {}
        for name in ("labels.csv", "graph.graphml", "page.html"):
            path = folder / name
            if path.exists():
                text = path.read_text()
                if name == "page.html":  # it tells how long the fit took
                    text = re.sub(r"\d+(\.\d+)?(e-?\d+)?", "0", text)
                found[name] = hashlib.sha256(text.encode()).hexdigest()
        if (folder / "model.npz").exists():
            found["model.npz"] = load_model(folder / "model.npz").labels_.tolist()
        return found

    def spoil(self, folder: Path, rng: np.random.Generator) -> None:
        for path in sorted(p for p in folder.iterdir() if p.is_file()):
            content = path.read_bytes()
            path.write_bytes(content[: rng.integers(len(content))])


class SavedModel(Subject):
    title = "saved models"
    disk = (1, 16)

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        from unispectral import SCSK

        X = np.loadtxt(self.table, delimiter=",", skiprows=1)
        self.model = SCSK(3, kernel="gaussian", n_jobs=1).fit(X)

    def act(self, folder: Path) -> int:
        from unispectral.persistence import save_model

        try:
            save_model(self.model, folder / "model.npz")
        except OSError as error:
            sys.stderr.write(f"Error: {error}\n")
            return 1
        return 0

    def content(self, folder: Path) -> dict[str, Any]:
        from unispectral.persistence import load_model

        path = folder / "model.npz"
        return {"model.npz": load_model(path).labels_.tolist()} if path.exists() else {}

    def spoil(self, folder: Path, rng: np.random.Generator) -> None:
        ClusterFiles.spoil(self, folder, rng)  # type: ignore[arg-type]


class Bench(Subject):
    title = "the benchmark"
    kills = (2, 30)
    others = (1, 4)
    disk = (8, 120)

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        rng = np.random.default_rng(1)
        rows = [
            f"{x:.3f},{y:.3f},{'uv'[i % 2]}" for i, (x, y) in enumerate(rng.normal(size=(20, 2)))
        ]
        (base / "study.csv").write_text("x,y,kind\n" + "\n".join(rows) + "\n")
        (base / "study.toml").write_text(
            'name = "tiny"\ntitle = "Tiny"\n'
            f'[[dataset]]\nname = "t"\nfile = "{base}/study.csv"\ntruth = "kind"\n'
            '[[method]]\nname = "k-means"\nestimator = "sklearn.cluster.KMeans"\n'
            "repeats = 3\nparameters = { n_init = 1 }\n"
        )

    def act(self, folder: Path) -> int:
        from unispectral.cli._app import run as command

        study, store = str(self.base / "study.toml"), str(folder / "results.sqlite")
        return command(["bench", "run", "--study", study, "--store", store, "-j", "1", "-q"])

    def content(self, folder: Path) -> dict[str, Any]:
        from unispectral.bench import Store, StoreError

        found: dict[str, Any] = {}
        path = folder / "results.sqlite"
        if path.exists() and path.stat().st_size:
            try:
                with Store(path, readonly=True) as store:
                    for key, record in store.records().items():
                        if record.status == "done" and record.labels is not None:
                            found[key] = (record.labels.tolist(), sorted(record.scores.items()))
            except StoreError:
                return {}  # said to be unreadable; a rerun has to put it right
        for page in folder.glob("*.html"):
            if not page.read_text().rstrip().endswith("</html>"):
                found[page.name] = "cut short"
        return found

    def spoil(self, folder: Path, rng: np.random.Generator) -> None:
        path = folder / "results.sqlite"
        content = bytearray(path.read_bytes())
        how = rng.integers(4)
        if how == 0:
            content = content[: rng.integers(len(content))]
        elif how == 1:
            content = bytearray(rng.bytes(len(content)))
        elif how == 2:
            for place in rng.integers(len(content), size=50):
                content[place] = rng.integers(256)
        else:
            content = bytearray()
        path.write_bytes(bytes(content))


def _hurt(subject: Subject, plan: Plan) -> Tally:
    tally = Tally(f"faults: {subject.title}", plan.seed)
    rng = np.random.default_rng([plan.seed, len(subject.title)])
    reference_folder = Path(tempfile.mkdtemp(dir=subject.base))
    ended = run_child(lambda: subject.act(reference_folder))
    reference = subject.content(reference_folder)
    if ended.code != 0 or not reference:
        tally.add("lost", "undisturbed run", f"code {ended.code}: {ended.said}")
        return tally
    operations = count_operations(
        lambda: subject.act(_fresh(subject.base)), subject.base / "fresh"
    )
    case = _Case(subject, reference, tally)
    for number in range(plan.pick(*subject.kills)):
        if plan.over:
            return tally
        at = int(rng.integers(1, operations + 1)) if number % 2 else None
        after = None if at else float(rng.uniform(0.0, 1.5))
        case.kill(at, after, again=bool(rng.integers(2)))
    for _ in range(plan.pick(*subject.others)):
        if plan.over:
            return tally
        case.full_disk(int(rng.integers(*subject.disk)))
        case.read_only()
        case.corrupt(rng)
        case.two_runs()
        case.clock(rng)
        if isinstance(subject, ClusterFiles):
            case.broken_pipe()
    tally.facts["file operations of an undisturbed run"] = operations
    return tally


def _fresh(base: Path) -> Path:
    folder = base / "fresh"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


class _Case:
    """One fault on one subject: disturb, look, rerun, compare."""

    def __init__(self, subject: Subject, reference: dict[str, Any], tally: Tally) -> None:
        self.subject, self.reference, self.tally = subject, reference, tally

    def _folder(self) -> Path:
        return _fresh(self.subject.base)

    def _settle(self, folder: Path, name: str, ended: Ended | None = None) -> None:
        """Nothing half-written now, and everything right after a rerun."""
        try:
            there = self.subject.content(folder)
        except Exception as error:
            self.tally.add("lost", name, f"half-written: {error!r}")
            return
        odd = [key for key, value in there.items() if self.reference.get(key) != value]
        if odd:
            self.tally.add("lost", name, f"half-written under its final name: {odd}")
            return
        if ended is not None and "Traceback" in ended.said:
            self.tally.add("lost", name, f"no sentence: {ended.said[-400:]}")
            return
        self._rerun(folder, name)

    def _rerun(self, folder: Path, name: str) -> None:
        ended = run_child(lambda: self.subject.act(folder))
        try:
            now = self.subject.content(folder)
        except Exception as error:
            self.tally.add("lost", name, f"rerun: {error!r}")
            return
        good = ended.code == 0 and now == self.reference
        odd = {key for key in {*now, *self.reference} if now.get(key) != self.reference.get(key)}
        self.tally.check(
            good, name, f"rerun: code {ended.code}, {odd} differ; {ended.said[-300:]}"
        )

    def kill(self, at: int | None, after: float | None, again: bool) -> None:
        folder = self._folder()
        if again:  # over files that are there already
            run_child(lambda: self.subject.act(folder))
        when = f"at file operation {at}" if at else f"after {after:.3f} s"
        run_child(lambda: self.subject.act(folder), kill_at=at, kill_after=after, folder=folder)
        self._settle(folder, f"kill -9 {when}{', files there before' if again else ''}")

    def full_disk(self, kilobytes: int) -> None:
        folder = self._folder()
        with small_disk(folder, kilobytes) as (place, prepare, how):
            ended = run_child(lambda: self.subject.act(place), prepare=prepare)
            there = self.subject.content(place)
            odd = [key for key, value in there.items() if self.reference.get(key) != value]
            name = f"disk of {kilobytes} kB ({how})"
            told = ended.code == 0 or ("Traceback" not in ended.said and ended.said.strip())
            if odd or not told or (ended.code == 0 and there != self.reference):
                words = f"{odd} half-written, code {ended.code}: {ended.said[-300:]}"
                self.tally.add("lost", name, words)
                return
        self._rerun(folder, name)

    def read_only(self) -> None:
        folder = self._folder()
        with unwritable(folder) as prepare:
            ended = run_child(lambda: self.subject.act(folder), prepare=prepare)
        if ended.code == 0 or "Error" not in ended.said:
            self.tally.add("lost", "read-only folder", f"code {ended.code}: {ended.said[-300:]}")
            return
        self._settle(folder, "read-only folder", ended)

    def corrupt(self, rng: np.random.Generator) -> None:
        folder = self._folder()
        run_child(lambda: self.subject.act(folder))
        self.subject.spoil(folder, rng)
        self._rerun(folder, "corrupt files of an earlier run")

    def two_runs(self) -> None:
        folder = self._folder()

        def both() -> int:
            other = os.fork()
            code = self.subject.act(folder)
            if other == 0:
                sys.stderr.flush()
                os._exit(code)
            return code or os.waitstatus_to_exitcode(os.waitpid(other, 0)[1])

        ended = run_child(both)
        if ended.code != 0:
            words = f"code {ended.code}: {ended.said[-300:]}"
            self.tally.add("lost", "two runs in one folder", words)
            return
        self._settle(folder, "two runs in one folder", ended)

    def clock(self, rng: np.random.Generator) -> None:
        folder = self._folder()
        ended = run_child(lambda: self.subject.act(folder), prepare=jumping_clock(rng))
        for path in folder.rglob("*"):
            when = float(rng.uniform(0, 4e9))
            os.utime(path, (when, when))
        if ended.code != 0:
            self.tally.add("lost", "clock that jumps", f"code {ended.code}: {ended.said[-300:]}")
            return
        self._settle(folder, "clock that jumps", ended)

    def broken_pipe(self) -> None:
        """A reader that has gone before the labels come."""
        from unispectral.cli._app import run as command

        reader, writer = os.pipe()
        os.close(reader)
        table = str(self.subject.table)
        options = ["-k", "3", "-q", "-o", "-", "--method", "kmeans"]
        ended = run_child(lambda: command(["cluster", table, *options]), stdout=writer)
        os.close(writer)
        good = not ended.killed and "Traceback" not in ended.said and ended.code in (0, 1)
        self.tally.check(good, "broken pipe", f"code {ended.code}: {ended.said[-300:]}")

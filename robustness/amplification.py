"""Small files that mean much: each is read in a process with a gigabyte and twenty seconds.

It must end with a sentence or with the table. What a file needs beyond the limits is a failure,
whatever the machine has.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from robustness._bombs import BOMBS, FACTORS, bomb
from robustness._results import Part, Plan, Result

__all__ = ["FORMATS", "PARTS", "QUICK", "BombCase", "add", "cases", "outcome"]

#: What a case may take beyond what the process has when it begins, and in all.
MEMORY, SECONDS = 2**30, 20.0
#: Files above this are no small ones.
SMALL = 4_000_000
#: Pages and tables of a small store above this are no small ones, either.
LARGE = 50_000_000


class BombCase(NamedTuple):
    """A format, a kind of file, and how large it is meant to be."""

    format: str
    kind: str
    factor: int

    def __str__(self) -> str:
        return f"amplification: {self.format} | {self.kind} | {self.factor}"


class Measured(NamedTuple):
    """What came of a case, in words, with the size of the file and what reading it took."""

    outcome: str
    words: str
    size: int
    megabytes: float
    seconds: float


#: The fastest kinds of each format and those that once took the machine down, for every change.
QUICK = [
    BombCase("csv", "one long id", 4), BombCase("csv", "equal names", 6),
    BombCase("csv", "names that count", 3), BombCase("csv", "one long cell", 4),
    BombCase("csv.gz", "zeros", 6), BombCase("csv.xz", "zeros", 5),
    BombCase("xlsx", "corners", 5), BombCase("xlsx", "corners", 6),
    BombCase("xlsx", "a row far below", 6), BombCase("xlsx", "wide empty rows", 6),
    BombCase("xlsx", "wide filled rows", 5), BombCase("xlsx", "entities", 5),
    BombCase("parquet", "one text in all rows", 6), BombCase("parquet", "lists of one text", 6),
    BombCase("parquet", "bytes of a fixed size", 6), BombCase("parquet", "lists", 5),
    BombCase("parquet", "a page header that lies", 6),
    BombCase("parquet", "a dictionary of more than its summary", 6),
    BombCase("parquet", "row groups that share a dictionary", 5),
    BombCase("parquet", "encodings that lie", 4), BombCase("parquet", "rows that lie", 6),
    BombCase("parquet", "a footer of empty chunks", 3),
    BombCase("parquet", "columns that share a page", 3),
    BombCase("csv.zst", "zeros", 6), BombCase("csv.zst", "equal lines", 4),
    BombCase("cache.gz", "a false shape", 6), BombCase("npy", "a false shape", 6),
    BombCase("npy", "empty items", 5),
    BombCase("npy", "deep header", 4), BombCase("npy", "deep fields", 3),
    BombCase("npz", "tall CSC", 6), BombCase("npz", "wide names", 5),
    BombCase("npz", "a false shape", 6), BombCase("mat", "a false shape", 6),
    BombCase("mat", "tall sparse", 6), BombCase("mat", "a tag that lies", 6),
    BombCase("h5", "values that are not stored", 6), BombCase("h5", "a group in itself", 3),
    BombCase("h5ad.gz", "references to one text", 6), BombCase("model.npz", "one long text", 6),
    BombCase("model.npz", "deep values", 6), BombCase("model.npz", "a wide graph", 6),
]  # fmt: skip


def cases(formats: Sequence[str] = ()) -> Iterator[BombCase]:
    """Every kind of file of some formats, or of all, in every size."""
    for format, kind in BOMBS:
        if not formats or format in formats:
            yield from (BombCase(format, kind, factor) for factor in FACTORS)


def outcome(case: BombCase) -> tuple[str, str]:
    """Do one case: ``"works"``, ``"refused"`` or ``"failed"``, and what was said."""
    measured = measure([case])[0]
    return measured.outcome, measured.words


def measure(wanted: Sequence[BombCase]) -> list[Measured]:
    """Read files one after another, each in a child of one process that has imported all."""
    prepare()
    return [_in_child(case) for case in wanted]


def prepare() -> None:
    """Import what the readers need, so that no child is charged for it."""
    for name in ("pandas", "openpyxl", "pyarrow.parquet", "h5py", "anndata"):
        __import__(name)
    import unispectral.bench
    import unispectral.cli._app
    import unispectral.datasets
    import unispectral.persistence
    import unispectral.tables  # noqa: F401


def _in_child(case: BombCase) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"bomb.{case.format}"
        content = bomb(*case)
        path.write_bytes(content)
        answer = Path(folder) / "answer.txt"
        begun = time.monotonic()
        child = os.fork()
        if child == 0:
            _work(case, path, answer)
        usage = _wait(child, begun)
        words = answer.read_text() if answer.exists() else ""
    found, _, said = words.partition(": ")
    megabytes = usage.memory / 2**20
    if not found:
        found, said = "failed", f"ended by {usage.reason} after {usage.seconds:.1f} s"
    elif usage.seconds > SECONDS:
        found, said = "failed", f"{found} after {usage.seconds:.1f} s"
    return Measured(found, said, len(content), megabytes, usage.seconds)


class _Usage(NamedTuple):
    memory: int
    seconds: float
    reason: str


def _wait(child: int, begun: float) -> _Usage:
    """Wait for a child and end it, with what it has started, where it takes too long."""
    reason = ""
    while True:
        ended, status, used = os.wait4(child, os.WNOHANG)
        if ended:
            break
        # Wall time on a machine with other work says little; processor time is asked for below.
        if time.monotonic() - begun > 6 * SECONDS:
            reason = "the limit of time"
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.01)
    if os.WIFSIGNALED(status) and not reason:
        reason = f"signal {os.WTERMSIG(status)}"
    seconds = used.ru_utime + used.ru_stime
    unit = 1 if sys.platform == "darwin" else 1024
    return _Usage(used.ru_maxrss * unit, seconds, reason or f"code {status}")


def _work(case: BombCase, path: Path, answer: Path) -> None:
    """What the child does: set the limits, read, say what came of it, end."""
    import resource

    os.setpgid(0, 0)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (int(2 * SECONDS), int(2 * SECONDS)))
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(null, stream)
    try:
        found = _read(case, path)
    except BaseException as error:
        found = f"failed: {type(error).__name__}: {error!s:.300}"
    answer.write_text(found)
    os._exit(0)


def _read(case: BombCase, path: Path) -> str:
    import warnings

    from unispectral.persistence import ModelFileError, load_model
    from unispectral.tables import TableError, read_table

    warnings.simplefilter("ignore")
    try:
        if case.format == "model.npz":
            load_model(path)
            return "works: "
        if case.format == "store.jsonl":
            return _read_store(path)
        if case.format == "cache.gz":
            return _read_cache(path)
        options: dict[str, Any] = {}
        if case.kind in ("one long id", "wide names"):
            options["id"] = "id" if case.format == "csv" else "names"
        table = read_table(path, **options)
    except (TableError, ModelFileError) as error:
        text = str(error)
        fits = len(text) < 2000 and "\n" not in text
        return f"refused: {text}" if fits else f"failed: a sentence of {len(text)} characters"
    if table.values.shape[1] != len(table.columns):
        return f"failed: {table.values.shape} for {len(table.columns)} columns"
    return f"works: {table.values.shape}"


def _read_store(path: Path) -> str:
    """What the command says that makes the page of a store, and the table of another program."""
    from unispectral.cli._app import run

    for command, ending in (("report", "html"), ("export", "csv")):
        said = io.StringIO()
        out = path.with_suffix(f".{ending}")
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = run(["bench", command, "--store", str(path), "--out", str(out)])
        words = said.getvalue().strip()
        if code:
            fits = code == 1 and words.startswith("Error: ") and "\n" not in words
            return f"refused: {words}" if fits else f"failed: {words[-300:]}"
        if out.stat().st_size > LARGE:
            return f"failed: {command} wrote {out.stat().st_size:,} bytes"
    return "works: "


def _read_cache(path: Path) -> str:
    """What is said of a copy of MNIST's first file that is none."""
    from unispectral.datasets import dataset_info, fetch

    path.rename(path.parent / dataset_info("mnist").file.name)
    try:
        fetch("mnist", data_home=path.parent, download=False)
    except ValueError as error:
        return f"refused: {error}"
    return "failed: taken for MNIST"


def _part(*formats: str) -> Part:
    def part(plan: Plan) -> Result:
        result = Result("small files that mean much", plan.seed)
        few = [case for case in QUICK if case.format in formats]
        wanted = few if plan.quick else list(cases(formats))
        return add(result, wanted)

    return part


def add(result: Result, wanted: Sequence[BombCase]) -> Result:
    """Count what came of files, with the largest memory and the longest time."""
    script = [sys.executable, "-m", "robustness.amplification", *map("|".join, _texts(wanted))]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    lines = [line.split("\t", 4) for line in done.stdout.splitlines()]
    most = {"memory": (0.0, ""), "time": (0.0, ""), "file": (0.0, "")}
    for case, (found, size, megabytes, seconds, words) in zip(wanted, lines, strict=False):
        result.add(found, str(case), words)
        for key, value in (("memory", megabytes), ("time", seconds), ("file", size)):
            most[key] = max(most[key], (float(value), str(case)))
    for case in wanted[len(lines) :]:
        result.add("failed", str(case), f"no answer: {done.stderr[-300:]}")
    units = {"memory": "MB", "time": "s of processor time", "file": "bytes"}
    for key, (value, case) in most.items():
        result.facts[f"largest {key}"] = f"{value:.1f} {units[key]}: {case}"
    return result


def _texts(wanted: Sequence[BombCase]) -> list[list[str]]:
    return [[case.format, case.kind, str(case.factor)] for case in wanted]


#: The formats of each part.
FORMATS = {
    "text": ("csv", "csv.gz", "csv.bz2", "csv.xz", "csv.zst"),
    "excel": ("xlsx",),
    "parquet": ("parquet",),
    "arrays": ("npy", "npy.gz", "npz", "mat"),
    "hdf": ("h5", "h5ad", "h5ad.gz"),
    "models": ("model.npz",),
    "stores": ("store.jsonl", "cache.gz"),
}
PARTS: dict[str, Part] = {name: _part(*formats) for name, formats in FORMATS.items()}


def main(arguments: Sequence[str]) -> None:
    """Read the files that are named; a line for each."""
    prepare()
    for text in arguments:
        format, kind, factor = text.split("|")
        done = _in_child(BombCase(format, kind, int(factor)))
        words = " ".join(done.words.split())
        fields = (done.outcome, done.size, f"{done.megabytes:.1f}", f"{done.seconds:.2f}", words)
        print(*fields, sep="\t", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

"""Valid stores of the benchmark with changed meaning: each command works or says one sentence.

Lines of a real store are changed as :mod:`robustness.model_fuzz` changes the JSON of saved models,
their checksums made to fit again. Then ``report``, ``export`` and ``list`` read the store.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robustness._pool import add_cases
from robustness._results import Part, Plan, Result
from robustness.model_fuzz import MUTATORS, Archive

__all__ = ["PARTS", "StoreCase", "cases", "line_of", "outcome", "valid_lines"]

#: Changes that need nothing but JSON.
_CHANGES = ("number", "string", "other type", "remove", "rename", "repeat", "reorder", "exchange",
            "nest", "wrap")  # fmt: skip
#: In turn; the list reads the studies that come with the library as well, which takes long.
_COMMANDS = ("report", "export") * 4 + ("list",)
_LIMIT = 60.0


class StoreCase(NamedTuple):
    """The command that reads the store, and the seed of the changes."""

    command: str
    seed: int

    def __str__(self) -> str:
        return f"stores: {self.command} | changed | {self.seed}"


@cache
def valid_lines() -> list[bytes]:
    """The lines of a store: two data sets, three methods, one of which fails."""
    from unispectral.bench import Store, Study, StudyDataset, StudyMethod, run

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in "ab":
            X = rng.normal(size=(24, 2)) + 4.0 * (np.arange(24) % 2)[:, None]
            np.savez(Path(folder) / f"{name}.npz", X=X, y=np.arange(24) % 2)
        study = Study(
            "changed",
            datasets=[
                StudyDataset(name, file=str(Path(folder) / f"{name}.npz"), truth="y")
                for name in "ab"
            ],
            methods=[
                StudyMethod("k-means", "sklearn.cluster.KMeans", parameters={"n_init": 1}),
                StudyMethod("k-means, wrong", "sklearn.cluster.KMeans", parameters={"init": "x"}),
                StudyMethod("SCMK", "unispectral.SCMK", parameters={"kernels": "paper"}),
            ],
        )
        path = Path(folder) / "results.jsonl"
        with Store(path) as store:
            run(study, store, processes=1)
        return path.read_bytes().splitlines()


def changed(seed: int) -> tuple[bytes, list[str]]:
    """The content of a changed store, and the names of its changes."""
    rng = np.random.default_rng(seed)
    archive = Archive.__new__(Archive)
    head, *lines = valid_lines()
    archive.trees, archive.arrays = {"lines": [json.loads(line) for line in lines]}, {}
    names = [str(rng.choice(_CHANGES)) for _ in range(int(rng.choice([1, 1, 1, 2, 3])))]
    for name in names:
        MUTATORS[name](archive, rng)
    entries = archive.trees.get("lines", archive.trees)
    entries = entries if isinstance(entries, list) else [entries]
    return b"\n".join([head, *map(line_of, entries)]) + b"\n", names


def line_of(entry: Any) -> bytes:
    """A line as the store writes it, with the checksum of what it says now."""
    from unispectral.bench.store import _digest

    if isinstance(entry, dict) and "digest" in entry:
        rest = {key: value for key, value in entry.items() if key != "digest"}
        entry = {**rest, "digest": _digest(rest)}
    return json.dumps(entry).encode()


def outcome(case: StoreCase) -> tuple[str, str]:
    """Run a command on a changed store: ``"works"``, ``"refused"`` or ``"failed"``."""
    from unispectral.cli._app import run

    content, changes = changed(case.seed)
    said = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path, out = Path(folder) / "results.jsonl", Path(folder) / "out.html"
        path.write_bytes(content)
        options = ["--store", str(path)] + ([] if case.command == "list" else ["--out", str(out)])
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            try:
                code = run(["bench", case.command, *options])
            except BaseException as error:
                return "failed", f"{', '.join(changes)}: {error!r}"
    text = said.getvalue().strip()
    told = f"{', '.join(changes)}: exit {code}: {text[-400:]}"
    if code == 0:
        return ("failed" if "Traceback" in text else "works"), told
    good = code == 1 and text.startswith("Error: ") and "\n" not in text
    return ("refused" if good else "failed"), told


def cases(seed: int) -> Iterator[StoreCase]:
    """Endless cases, the commands in turn."""
    rng = np.random.default_rng([seed, 6])
    while True:
        for command in _COMMANDS:
            yield StoreCase(command, int(rng.integers(2**31)))


def prepare() -> None:
    """Read the store unchanged once, so that all is imported."""
    for command in sorted(set(_COMMANDS)):
        outcome(StoreCase(command, 0))


def _stores(plan: Plan) -> Result:
    result = Result("hostile files: stores of changed meaning", plan.seed)
    wanted = islice(cases(plan.seed), plan.pick(18, 999))
    return add_cases(result, outcome, wanted, workers=plan.workers, limit=_LIMIT)


PARTS: dict[str, Part] = {"stores": _stores}

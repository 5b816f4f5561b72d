"""``bench run``, interrupt, retry, report and list in any order: the counts stay true."""

from __future__ import annotations

import re
import tempfile
import warnings
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

pytest.importorskip("click")
from click.testing import CliRunner

from unispectral.bench import Store
from unispectral.cli.bench import bench

_DONE = re.compile(r"(\d+) of (\d+) cells are done, (\d+) failed in this run")
_BEFORE = re.compile(r"(\d+) failed before")


class Bench(RuleBasedStateMachine):
    """A study that grows by methods that work or fail, and one store."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.home = Path(self.folder.name)
        rows = "\n".join(f"{i % 2 + i / 100},{i % 3},{'ab'[i % 2]}" for i in range(20))
        (self.home / "table.csv").write_text(f"x,z,kind\n{rows}\n")
        #: Cells by method, and of each the statuses that the store must have.
        self.works: list[bool] = []
        self.stored: dict[int, str] = {}
        self.add(True)

    def teardown(self) -> None:
        self.folder.cleanup()

    # The study

    @rule(works=st.booleans())
    @precondition(lambda self: len(self.works) < 5)
    def add(self, works: bool) -> None:
        self.works.append(works)
        file = self.home / "table.csv"
        text = f'name = "s"\n[[dataset]]\nname = "t"\nfile = "{file}"\ntruth = "kind"\n'
        for number, good in enumerate(self.works):
            init = "random" if good else "nonsense"
            text += f'[[method]]\nname = "m{number}"\nestimator = "sklearn.cluster.KMeans"\n'
            text += f'parameters = {{ n_init = 1, max_iter = {100 + number}, init = "{init}" }}\n'
        (self.home / "s.toml").write_text(text)

    # The commands

    def _call(self, command: str, *options: str):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return CliRunner().invoke(
                bench, [command, *options, "--store", str(self.home / "results.jsonl")]
            )

    def _run(self, *options: str):
        study = str(self.home / "s.toml")
        return self._call("run", "--study", study, "--backend", "here", "-q", *options)

    @rule(retry=st.booleans(), allow=st.booleans())
    def run(self, retry: bool, allow: bool) -> None:
        before = sum(self.stored.get(i) == "error" for i in range(len(self.works)))
        tried = [i for i in range(len(self.works)) if self.stored.get(i) != "done"]
        if not retry:
            tried = [i for i in tried if i not in self.stored]
        found = self._run("--no-report", *["--retry"] * retry, *["--allow-failures"] * allow)
        self.stored |= {i: "done" if works else "error" for i, works in enumerate(self.works)}
        done, failed_now = sum(self.works), sum(not self.works[i] for i in tried)
        counts = _DONE.search(found.output)
        assert counts is not None, found.output
        assert tuple(map(int, counts.groups())) == (done, len(self.works), failed_now)
        earlier = _BEFORE.search(found.output)
        assert (int(earlier[1]) if earlier else 0) == (0 if retry else before)
        bad = done == 0 or (done < len(self.works) and not allow)
        assert found.exit_code == int(bad), found.output

    @rule(after=st.integers(0, 2))
    def interrupted_run(self, after: int) -> None:
        """Ctrl-C when some cells are stored: these stay, no other appears."""
        todo = [i for i in range(len(self.works)) if i not in self.stored]
        put, seen = Store.put, []

        def stop(store, cell, answer):
            if len(seen) == after:
                raise KeyboardInterrupt
            seen.append(answer["status"])
            return put(store, cell, answer)

        with patch.object(Store, "put", stop):
            found = self._run("--no-report")
        if len(todo) > after:
            assert found.exit_code == 130, found.output
        self._look()

    def _look(self) -> None:
        """Learn from the store which of the methods were done before an interrupt."""
        now = self._statuses()
        for number, status in now.items():
            assert status == ("done" if self.works[number] else "error")
        assert set(self.stored) <= set(now)
        self.stored = now

    def _statuses(self) -> dict[int, str]:
        path = self.home / "results.jsonl"
        if not path.exists():
            return {}
        with Store(path, readonly=True) as store:
            records = store.records().values()
            return {r.job["parameters"]["max_iter"] - 100: r.status for r in records}

    @rule()
    @precondition(lambda self: self.stored)
    def report(self) -> None:
        page = self.home / "page.html"
        page.unlink(missing_ok=True)
        found = self._call("report", "--out", str(page))
        assert found.exit_code == 0, found.output
        text = page.read_text(encoding="utf-8")
        assert text.rstrip().endswith("</html>")

    @rule()
    @precondition(lambda self: self.stored)
    def list_studies(self) -> None:
        found = self._call("list")
        line = next(line for line in found.output.splitlines() if line.startswith("stored"))
        done, total, failed = map(int, re.findall(r"\d+", line.partition(": ")[2]))
        mine = [self.stored[i] for i in self.stored if i < total]
        assert (done, failed) == (mine.count("done"), mine.count("error"))

    @invariant()
    def the_store_has_what_was_run(self) -> None:
        assert self._statuses() == self.stored


Bench.TestCase.settings = settings(
    max_examples=10,
    phases=(Phase.generate,),  # finding the shortest failure takes minutes
    stateful_step_count=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


TestBench = Bench.TestCase

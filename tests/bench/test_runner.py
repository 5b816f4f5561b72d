"""Workers with limits, resuming, two runs at once, and everything that can go wrong."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unispectral.bench import (
    Column,
    Results,
    Store,
    StoreError,
    Study,
    StudyDataset,
    StudyMethod,
    run,
)
from unispectral.bench.runner import duration

HERE = Path(__file__).parent
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))


def fake(kind: str, name: str = "", **settings: object) -> StudyMethod:
    return StudyMethod(name or kind, f"fakes.{kind}", **settings)  # type: ignore[arg-type]


def study(*methods: StudyMethod, **settings: object) -> Study:
    return Study("faults", ["iris"], methods, **settings)  # type: ignore[arg-type]


def outcomes(path: Path) -> dict[str, list[tuple[str, str | None]]]:
    found: dict[str, list[tuple[str, str | None]]] = {}
    with Store(path, readonly=True) as store:
        for record in store.records().values():
            found.setdefault(record.job["method"], []).append((record.status, record.reason))
    return found


def content(path: Path) -> dict[str, tuple[str, str | None, dict[str, float]]]:
    """Everything that must be the same after a disturbed and an undisturbed run."""
    with Store(path, readonly=True) as store:
        return {
            key: (record.status, record.facts.get("labels"), record.scores)
            for key, record in store.records().items()
        }


@linux
def test_limits_failures_and_what_goes_on_after_them(tmp_path: Path) -> None:
    """One run in which almost everything goes wrong, and the good cells are all there."""
    everything = study(
        fake("Steady", "before", repeats=3),
        fake("Stuck", time_limit=0.5),
        fake("Hungry", memory_limit=600 * 2**20),
        fake("Greedy", memory_limit=2 * 2**30),
        fake("Crash"),
        fake("CrashOnce", parameters={"folder": str(tmp_path)}),
        fake("Noisy"),
        fake("Wrong"),
        fake("Peeking"),
        fake("Steady", "after", repeats=3, parameters={"seconds": 0.01}),
        time_limit=300.0,
    )
    path = tmp_path / "r.jsonl"
    with Store(path) as store:
        summary = run(everything, store, processes=2)
        records = {r.job["method"]: r for r in store.records().values()}
    found = outcomes(path)
    for good, count in (("before", 3), ("after", 3), ("CrashOnce", 1), ("Noisy", 1)):
        assert found[good] == [("done", None)] * count
    assert found["Peeking"] == [("done", None)]
    assert found["Stuck"] == [("timeout", "The fit was stopped at its time limit of 0.5 s.")]
    assert found["Hungry"][0][0] == "memory"
    assert found["Greedy"][0][0] == "memory"
    assert found["Crash"][0][0] == "crash"
    assert "signal 11" in (found["Crash"][0][1] or "")
    assert found["Wrong"][0][0] == "error"
    assert "labels_ has shape (149,)" in (found["Wrong"][0][1] or "")
    assert records["Noisy"].warnings == ["UserWarning: this is only a warning"]
    assert records["before"].peak_bytes
    assert records["before"].peak_bytes > 10 * 2**20
    assert summary.failed == 5
    assert summary.total == summary.outcomes.total() == 14


def test_nothing_is_done_twice(tiny: Study, ran: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.jsonl"
    shutil.copy(ran, path)
    before = content(path)
    with Store(path) as store:
        again = run(tiny, store)
        assert again.found == again.total
        assert not again.outcomes
        small = tiny.select(["iris"], ["k-means", "broken"])
        retried = run(small, store, backend="here", retry=True)
        assert retried.outcomes == Counter(error=1)
    assert content(path) == before


def test_same_results_here_and_in_processes(tiny: Study, ran: Path, tmp_path: Path) -> None:
    with Store(tmp_path / "one.jsonl") as store:
        run(tiny, store, backend="here")
    assert content(tmp_path / "one.jsonl") == content(ran)


def test_a_higher_limit_is_a_reason_to_try_again(tmp_path: Path) -> None:
    method = fake("Steady", parameters={"seconds": 0.6}, time_limit=0.2)
    with Store(tmp_path / "r.jsonl") as store:
        assert run(study(method), store, processes=1).outcomes == Counter(timeout=1)
        assert run(study(method), store, processes=1).found == 1
        more = study(replace(method, time_limit=300.0))
        assert run(more, store, processes=1).outcomes == Counter(done=1)


def test_unavailable_data_stop_only_their_own_cells(tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    both = Study(
        "s",
        [StudyDataset("gone", file=str(empty), truth="y"), "iris"],
        [fake("Steady", repeats=4)],
    )
    with Store(tmp_path / "r.jsonl") as store:
        assert run(both, store, backend="here").outcomes == Counter(data=4, done=4)
        rows = "\n".join(f"{i},{i % 2}" for i in range(10))
        empty.write_text(f"x,y\n{rows}\n")
        again = Study("s", [replace(both.datasets[0]), "iris"], both.methods)
        assert run(again, store, backend="here").outcomes == Counter(done=4)


def test_shared_kernels_cannot_be_written_to(tmp_path: Path) -> None:
    method = fake("Writing", input="kernel", kernels=("linear",))
    with Store(tmp_path / "r.jsonl") as store:
        run(study(method), store, backend="here")
    assert "read-only" in (outcomes(tmp_path / "r.jsonl")["Writing"][0][1] or "")


def test_sparse_data_and_true_classes_in_a_file_of_their_own(tmp_path: Path) -> None:
    import scipy.sparse as sp

    X = sp.random(30, 8, density=0.4, random_state=0, format="csr")
    sp.save_npz(tmp_path / "X.npz", X)
    target = np.random.default_rng(0).integers(3, size=30)
    np.save(tmp_path / "truth.npy", target)
    (tmp_path / "truth.csv").write_text("\n".join(["kind", *map(str, target)]) + "\n")
    sets = [
        StudyDataset(name, file=str(tmp_path / "X.npz"), truth=str(tmp_path / name))
        for name in ("truth.npy", "truth.csv")
    ]
    with Store(tmp_path / "r.jsonl") as store:
        mixed = Study("s", sets, [StudyMethod("k-means", "sklearn.cluster.KMeans")])
        assert run(mixed, store, backend="here").outcomes == Counter(done=2)
        one, two = store.records().values()
    assert one.n_samples == 30
    assert one.scores == two.scores


def _studies(path: Path) -> list[str]:
    try:
        with Store(path, readonly=True) as store:
            return store.studies()
    except StoreError:  # not there yet
        return []


def test_a_second_run_on_a_store_is_refused(tmp_path: Path) -> None:
    """As long as the first one lives, however it ends."""
    path = tmp_path / "r.jsonl"
    script = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from unispectral.bench import *\n"
        "m = StudyMethod('Steady', 'fakes.Steady', repeats=30, parameters={'seconds': 9})\n"
        "with Store(sys.argv[1]) as store:\n"
        "    run(Study('faults', ['iris'], [m]), store, processes=1)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(path), str(HERE)])
    wait_until(lambda: _studies(path) == ["faults"])
    with Store(path) as store:
        with pytest.raises(StoreError, match="Another run is writing"):
            run(study(fake("Steady")), store, backend="here")
        process.kill()
        process.wait()
        assert run(study(fake("Steady")), store, backend="here").done == 1
        assert run(study(fake("Steady")), store, backend="here").found == 1


def test_concurrent_writers(tmp_path: Path) -> None:
    """Four writers of the same file at once lose nothing."""
    path = tmp_path / "r.jsonl"
    cells = study(fake("Steady", repeats=200)).cells()
    Store(path).close()

    def write(part: int) -> None:
        with Store(path) as store:
            for cell in cells[part::4]:
                store.put(cell, {"status": "done", "scores": {"accuracy": 0.5}, "seconds": 1})

    threads = [threading.Thread(target=write, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Store(path, readonly=True) as store:
        assert len(store.records()) == 200


@linux
def test_workers_die_with_the_runner(tmp_path: Path) -> None:
    """Even in the middle of compiled code that holds the interpreter's lock."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from unispectral.bench import *\n"
        "m = StudyMethod('Stuck', 'fakes.Stuck', repeats=2, time_limit=300)\n"
        "with Store(sys.argv[1]) as store:\n"
        "    run(Study('faults', ['iris'], [m]), store, processes=2)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "r.jsonl"), str(HERE)]
    )
    wait_until(lambda: len(workers_of(process.pid)) == 2)
    time.sleep(1.5)
    process.kill()
    process.wait()
    wait_until(lambda: not workers_of(process.pid))


def children(folder: Path) -> list[int]:
    """The processes that fits have started, those that still run."""
    found = [int(path.name.partition("-")[2]) for path in folder.glob("child-*")]
    return [number for number in found if running(number)]


def running(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def alone(number: int) -> bool:
    """Whether a process leads a session of its own; one that is gone has none."""
    try:
        return os.getsid(number) == number
    except ProcessLookupError:
        return True


@linux
@pytest.mark.parametrize(
    ("kind", "status", "limits"),
    [
        ("Parent", "timeout", {"time_limit": 5.0}),
        ("HungryParent", "memory", {"memory_limit": 900 * 2**20}),
        ("CrashingParent", "crash", {}),
    ],
)
def test_limits_hold_for_the_processes_that_a_fit_starts(
    kind: str, status: str, limits: dict, tmp_path: Path
) -> None:
    """Two times 400 MB in children is more than 900 MB with the worker itself."""
    method = fake(kind, parameters={"folder": str(tmp_path)}, **limits)
    with Store(tmp_path / "r.jsonl") as store:
        run(study(method, time_limit=300.0), store, processes=1)
        (record,) = store.records().values()
    assert record.status == status, record.reason
    assert len(list(tmp_path.glob("child-*"))) >= 2
    if kind == "CrashingParent":  # whoever has left its session is out of sight after a crash
        wait_until(lambda: all(map(alone, children(tmp_path))))
        for number in children(tmp_path):
            os.kill(number, 9)
    wait_until(lambda: not children(tmp_path))
    if kind == "HungryParent":
        assert (record.peak_bytes or 0) > 900 * 2**20


@linux
def test_processes_of_a_fit_die_with_the_runner(tmp_path: Path) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from unispectral.bench import *\n"
        "m = StudyMethod('Parent', 'fakes.Parent', parameters={'folder': sys.argv[3]})\n"
        "with Store(sys.argv[1]) as store:\n"
        "    run(Study('faults', ['iris'], [m]), store, processes=1)\n"
    )
    arguments = [str(tmp_path / "r.jsonl"), str(HERE), str(tmp_path)]
    process = subprocess.Popen([sys.executable, "-c", script, *arguments])
    wait_until(lambda: len(children(tmp_path)) == 2)
    grouped = [number for number in children(tmp_path) if os.getsid(number) != number]
    process.kill()
    process.wait()
    wait_until(lambda: not any(map(running, grouped)))
    for number in children(tmp_path):  # the one that has left the session of its worker
        os.kill(number, 9)


def test_messages_with_a_lone_surrogate_end_no_study(tmp_path: Path) -> None:
    from unispectral.bench import write_report, write_tables

    methods = (fake("Surrogate", "failing", parameters={"seconds": 1.0}), fake("Surrogate"))
    with Store(tmp_path / "r.jsonl") as store:
        with open(tmp_path / "said.txt", "w", encoding="utf-8") as stream:
            summary = run(study(*methods), store, backend="here", stream=stream)
        assert summary.outcomes == Counter(error=1, done=1)
        results = Results(study(*methods), store)
        write_report(results, tmp_path / "page.html")
        write_tables(results, tmp_path / "tables.md")
    reasons = outcomes(tmp_path / "r.jsonl")
    assert reasons["failing"] == [("error", r"OSError: no such file: caf\udce9")]
    assert r"caf\udce9" in (tmp_path / "said.txt").read_text(encoding="utf-8")


def test_names_with_a_lone_surrogate_are_refused() -> None:
    with pytest.raises(ValueError, match="control characters"):
        fake("Steady", "caf\udce9")
    with pytest.raises(TypeError, match="stored"):
        fake("Steady", parameters={"folder": "caf\udce9"})


def test_failures_of_an_earlier_run_are_counted_as_such(tmp_path: Path) -> None:
    both = study(fake("Steady", repeats=2), fake("Wrong"))
    with Store(tmp_path / "r.jsonl") as store:
        first = run(both, store, backend="here")
        assert (first.done, first.failed, first.failed_before) == (2, 1, 0)
        again = run(both, store, backend="here")
        assert (again.done, again.failed, again.failed_before) == (2, 0, 1)
        retried = run(both, store, backend="here", retry=True)
        assert (retried.done, retried.failed, retried.failed_before) == (2, 1, 0)


def test_one_file_read_in_two_ways_is_two_data_sets(tmp_path: Path) -> None:
    rows = "\n".join(f"{i % 7},{i % 2},{i % 3}" for i in range(30))
    (tmp_path / "t.csv").write_text(f"x,two,three\n{rows}\n")
    sets = [
        StudyDataset(name, file=str(tmp_path / "t.csv"), truth=name) for name in ("two", "three")
    ]
    with Store(tmp_path / "r.jsonl") as store:
        run(Study("s", sets, [fake("Steady")]), store, backend="here")
        found = {r.job["dataset"]["name"]: r for r in store.records().values()}
    assert found["two"].facts["labels"] != found["three"].facts["labels"]
    assert found["two"].scores != found["three"].scores


def workers_of(parent: int) -> list[int]:
    """The worker processes that a process started, from their command lines."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parts = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if parts[-2:-1] == [str(parent).encode()] and any(
                b"_worker" in p or b"_pool" in p for p in parts
            ):
                found.append(int(entry.name))
    return found


def wait_until(condition) -> None:  # type: ignore[no-untyped-def]
    """A busy machine may take its time; what never happens runs into the limit of all tests."""
    while not condition():
        time.sleep(0.02)


TOML = """
name = "killed"
[[dataset]]
name = "iris"
[[dataset]]
name = "wine"
[[method]]
name = "steady"
estimator = "fakes.Steady"
repeats = 30
parameters = { seconds = 0.02 }
[[method]]
name = "failing"
estimator = "fakes.Wrong"
repeats = 3
"""


def command(store: Path, toml: Path, *more: str, **settings: object) -> subprocess.Popen:
    arguments = ["run", "--study", str(toml), "--store", str(store), "-j", "1", "--no-report"]
    return subprocess.Popen(
        [sys.executable, "-m", "unispectral", "bench", *arguments, *more],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **settings,  # type: ignore[call-overload]
    )


def count(store: Path) -> int:
    """The cells in a store that somebody else may be writing at this moment."""
    return store.read_bytes().count(b'"kind":"cell"') if store.exists() else 0


@linux
def test_killed_many_times_and_the_same_in_the_end(tmp_path: Path, thorough: bool) -> None:
    """SIGKILL at random moments loses at most the running cells, and nothing is ever wrong."""
    toml = tmp_path / "killed.toml"
    toml.write_text(TOML)
    store, calm = tmp_path / "killed.jsonl", tmp_path / "calm.jsonl"
    rng = np.random.default_rng(int(os.environ.get("UNISPECTRAL_SEED", "0")))
    in_between = 0
    for attempt in range(10 if thorough else 4):
        before = count(store)
        process = command(store, toml)
        if attempt % 4 != 3:  # in the middle of the work; else perhaps before it
            goal = before + int(rng.integers(1, 7))
            while count(store) < goal and process.poll() is None:
                time.sleep(0.01)
            time.sleep(rng.uniform(0, 0.03))
        else:
            time.sleep(rng.uniform(0.05, 1.0))
        process.kill()
        process.communicate()
        assert count(store) >= before
        in_between += 0 < count(store) < 66
    assert in_between
    last = command(store, toml, "--allow-failures")
    said, _ = last.communicate()
    assert last.returncode == 0, said
    first = command(calm, toml)
    first.communicate()
    assert content(store) == content(calm)
    assert len(content(calm)) == 66


@linux
def test_ctrl_c_keeps_what_is_done(tmp_path: Path) -> None:
    import signal

    toml = tmp_path / "killed.toml"
    toml.write_text(TOML.replace("seconds = 0.02", "seconds = 1"))
    store = tmp_path / "r.jsonl"
    process = command(store, toml, start_new_session=True)
    wait_until(lambda: count(store) >= 2)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate()
    assert process.returncode == 130
    assert "the same command goes on" in said
    assert not workers_of(process.pid)
    assert 2 <= count(store) < 66


def test_a_reader_that_goes_away_does_not_stop_the_study(tmp_path: Path) -> None:
    toml = tmp_path / "killed.toml"
    toml.write_text(TOML.replace("repeats = 30", "repeats = 5"))
    process = command(tmp_path / "r.jsonl", toml, "--allow-failures")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait() == 0
    assert count(tmp_path / "r.jsonl") == 16


@pytest.mark.parametrize(
    "other",
    [b"this is not a store" * 100, b"{}\n", b"\xff\x00", b'{"format":"unispectral b{', None],
)
def test_other_files_are_a_sentence_and_stay_as_they_are(
    other: bytes | None, ran: Path, tmp_path: Path
) -> None:
    path = tmp_path / "r.jsonl"
    later = ran.read_bytes().replace(b'"version":1}', b'"version":2}', 1)
    path.write_bytes(later if other is None else other)
    for readonly in (False, True):
        with pytest.raises(StoreError, match="Move it away or name another file"):
            Store(path, readonly=readonly)
        assert path.read_bytes() == (later if other is None else other)


@pytest.mark.parametrize("damage", ["middle", "end", "head", "empty"])
def test_what_is_left_of_a_damaged_store_is_used(
    damage: str, tiny: Study, ran: Path, tmp_path: Path
) -> None:
    path = tmp_path / "r.jsonl"
    data = bytearray(ran.read_bytes())
    if damage == "middle":
        data[4096:8192] = bytes(4096)
    elif damage == "end":
        data = data[: 2 * len(data) // 3]
    else:  # a disk that was full from the beginning
        data = data[: 20 if damage == "head" else 0]
    path.write_bytes(data)
    with Store(path) as store:
        before = len(store.records())
        assert (before > 0) == (damage in ("middle", "end"))
        summary = run(tiny, store, backend="here")
    assert summary.outcomes.total() == summary.total - before > 0
    assert content(path) == content(ran)


def test_a_changed_line_is_noticed_and_done_again(tiny: Study, ran: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    lines = ran.read_bytes().splitlines(keepends=True)
    done = [i for i, line in enumerate(lines) if b'"status":"done"' in line]
    for place, old, new in (
        (done[0], b'"accuracy":0.', b'"accuracy":0.9'),
        (done[1], b'"seconds":', b'"seconds":1'),
        (done[2], b'"labels":"', b'"labels":"0'),
    ):
        assert old in lines[place]
        lines[place] = lines[place].replace(old, new, 1)
    path.write_bytes(b"".join(lines))
    with Store(path) as store:
        assert run(tiny, store, backend="here").outcomes == Counter(done=3)
    assert content(path) == content(ran)


@pytest.fixture
def nobody() -> Iterator[None]:
    """Root may write everywhere: the rights of another user for the time of a test."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@linux
def test_a_folder_without_permission_is_a_sentence(nobody: None) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o555)
        with pytest.raises(StoreError, match="permissions"):
            Store(Path(folder) / "r.jsonl")


def test_places_that_cannot_be_are_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be kept"):
        Store(tmp_path / "no" / "folder" / "r.jsonl")
    with pytest.raises(StoreError, match="run a study first"):
        Store(tmp_path / "none.jsonl", readonly=True)


@linux
def test_a_full_disk_is_a_sentence_and_the_rest_is_kept(
    tiny: Study, ran: Path, tmp_path: Path
) -> None:
    import resource
    import signal

    path = tmp_path / "r.jsonl"
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with Store(path) as store:
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
            with pytest.raises(StoreError, match="Free space"):
                run(tiny, store, backend="here")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.stat().st_size == 20_000  # half a line is left
    with Store(path) as store:
        assert 0 < run(tiny, store, backend="here").found < len(content(ran))
    assert content(path) == content(ran)


def test_wrong_arguments_are_named(tiny: Study, tmp_path: Path) -> None:
    with Store(tmp_path / "r.jsonl") as store:
        with pytest.raises(ValueError, match="processes=0"):
            run(tiny, store, processes=0)
        with pytest.raises(ValueError, match="backend='slurm'"):
            run(tiny, store, backend="slurm")
        with pytest.raises(StoreError, match="no study 'x'"):
            store.load_study("x")


def test_lines_name_failures_and_the_time_spent(tiny: Study, tmp_path: Path) -> None:
    import io

    stream = io.StringIO()
    with Store(tmp_path / "r.jsonl") as store:
        run(tiny.select(["iris"]), store, backend="here", stream=stream)
    said = stream.getvalue()
    assert "error: broken on iris, repeat 0: InvalidParameterError" in said
    assert re.search(r"iris: SC finished; \d+ s\.\n", said)
    assert said.endswith("1 failed in this run.\n")
    assert "\r" not in said


def test_a_terminal_gets_one_more_line_that_is_rewritten(tmp_path: Path) -> None:
    import io

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    slow = study(fake("Steady", repeats=3, parameters={"seconds": 0.6}))
    with Store(tmp_path / "r.jsonl") as store:
        run(slow, store, backend="here", stream=stream)
    shown = stream.getvalue().split("\r\033[K")
    assert any(re.fullmatch(r"2/3  iris: Steady; \d s\.", text) for text in shown)
    assert any(re.fullmatch(r"3/3  iris: Steady finished; \d s\.\n", text) for text in shown)


def test_stored_cells_can_be_done_again(ran: Path) -> None:
    """From the stored job alone."""
    from unispectral.bench._worker import CellWorker

    with Store(ran, readonly=True) as store:
        record = next(r for r in store.records().values() if r.job["kernel"] == "gaussian_1")
        answer = CellWorker()(record.job)
    assert answer["scores"] == record.scores
    assert answer["facts"]["labels"] == record.facts["labels"]
    assert record.job["limits"] == {"seconds": 60.0, "bytes": None}


def test_every_cell_knows_where_it_was_run(ran: Path) -> None:
    with Store(ran, readonly=True) as store:
        for record in store.records().values():
            assert set(record.environment) == {"software", "machine"}


def test_study_is_read_back_from_the_store(tiny: Study, ran: Path) -> None:
    with Store(ran, readonly=True) as store:
        study, command = store.load_study()
        assert command == "unispectral bench --study tiny.toml"
        assert Results(study, store).table("paper", "accuracy").columns == (
            "k-means",
            "SC",
            "SC-m",
            "agglomerative",
        )


def test_selections_of_a_study_add_up(tiny: Study, ran: Path, tmp_path: Path) -> None:
    """In the declared order, with the surfaces and the commands of all."""
    path = tmp_path / "r.jsonl"
    with Store(path) as store:
        run(tiny.select(["wine"], ["agglomerative"]), store, backend="here", command="first")
        run(tiny.select(["iris"], ["K-MEANS"]), store, backend="here", command="second")
        assert run(tiny.select(["iris"], ["k-means"]), store, command="second").found == 3
    with Store(path, readonly=True) as store:
        stored, command = store.load_study("tiny")
        results = Results(stored, store)
    assert [dataset.name for dataset in stored.datasets] == ["iris", "wine"]
    assert [method.name for method in stored.methods] == ["k-means", "agglomerative"]
    assert stored.surfaces == tiny.surfaces
    assert len(results.records) == 3 + 4
    assert len(results.cells) == 2 * (3 + 4)
    assert command == "first\nsecond"
    with Store(path) as store:  # what is run as a whole is what it is now, and nothing else
        run(study := replace(tiny, methods=tiny.methods[:1], surfaces=()), store, command="all")
        stored, command = store.load_study("tiny")
    assert (command, stored.methods) == ("all", study.methods)


@pytest.mark.parametrize(
    ("one", "other", "hidden"),
    [
        ({"title": "Another title", "time_limit": 5.0, "repeats": 2}, {}, ""),
        ({"parameters": {"seconds": 0.001}}, {}, "one"),
        # One column for two methods cannot be: the older method gives way.
        ({"columns": (Column("other"),)}, {"columns": (Column("one"),)}, "other"),
    ],
)
def test_the_newer_definition_wins_and_says_what_it_hides(
    one: dict[str, Any], other: dict[str, Any], hidden: str, tmp_path: Path
) -> None:
    import io

    old = study(fake("Steady", "one"), fake("Steady", "other", parameters={"seconds": 0.01}))
    new = study(replace(old.methods[0], **one), replace(old.methods[1], **other))
    stream = io.StringIO()
    with Store(tmp_path / "r.jsonl") as store:
        run(old, store, backend="here")
        run(new.select(None, ["one"]), store, backend="here", stream=stream)
        stored, _ = store.load_study()
    assert stored.methods[0] == new.methods[0]
    assert [m.name for m in stored.methods] == ["one", "other"][: 1 if hidden == "other" else 2]
    found = re.findall("Earlier results of (.*) are kept but not shown", stream.getvalue())
    assert found == [hidden] * bool(hidden)


def test_durations() -> None:
    assert duration(0.4) == "0 s"
    assert duration(119.6) == "2 min 00 s"
    assert duration(754) == "12 min 34 s"
    assert duration(7300) == "2 h 01 min"


@pytest.mark.parametrize("backend", ["processes", "here"])
def test_a_study_with_an_unknown_parameter_is_refused_as_a_whole(
    backend: str, tmp_path: Path
) -> None:
    wrong = study(fake("Steady", repeats=2), fake("Steady", "other", parameters={"colour": 1}))
    with Store(tmp_path / "r.jsonl") as store:
        with pytest.raises(ValueError, match="'colour', which fakes"):
            run(wrong, store, processes=1, backend=backend)
        assert store.records() == {}
        assert store.studies() == []


def test_a_cell_costs_little_more_than_its_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, not timed: one process and one reading for all; benchmarks.overhead measures it."""
    started: list[object] = []
    popen = subprocess.Popen

    def counted(*arguments: Any, **settings: Any) -> Any:
        started.append(arguments)
        return popen(*arguments, **settings)

    monkeypatch.setattr("unispectral.bench._pool.subprocess.Popen", counted)
    cells = study(fake("Steady", repeats=60))
    with Store(tmp_path / "r.jsonl") as store:
        assert run(cells, store, processes=1).done == 60
        assert store.path.read_bytes().count(b"\n") == 62  # the head, the study, the cells
    assert len(started) == 2  # a worker, and whoever ends it with this process


def test_data_are_read_once_for_all_cells_of_a_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unispectral.bench import _worker

    loaded: list[str] = []
    load = _worker._load

    def counted(spec: dict) -> Any:
        loaded.append(spec["name"])
        return load(spec)

    monkeypatch.setattr(_worker, "_load", counted)
    both = Study("s", ["iris", "wine"], [fake("Steady", repeats=5)])
    with Store(tmp_path / "r.jsonl") as store:
        assert run(both, store, backend="here").done == 10
    assert loaded == ["iris", "wine"]

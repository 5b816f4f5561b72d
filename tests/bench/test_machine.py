"""Memory of a process and of those that it has started."""

from __future__ import annotations

import subprocess
import sys

import pytest

from unispectral.bench import _machine

HUNGRY = "kept = bytearray(b'x') * 2**20 * 60; print('ready', flush=True); input()"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {HUNGRY!r}])"


@pytest.mark.parametrize("linux", [True, False])
def test_memory_of_children_counts(linux: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the files of Linux, and by psutil, which serves elsewhere."""
    if linux and sys.platform != "linux":
        pytest.skip("needs Linux")
    if not linux:
        pytest.importorskip("psutil")
    monkeypatch.setattr(_machine, "_LINUX", linux)
    command = [sys.executable, "-S", "-c", PARENT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"ready\n"
        assert len(_machine.process_tree(process.pid)) == 2
        assert 60 * 2**20 < _machine.tree_bytes(process.pid) < 200 * 2**20
        process.stdin.close()
        process.wait()
        assert _machine.tree_bytes(process.pid) == 0


def test_environment_names_no_person_and_no_path() -> None:
    found = _machine.environment()
    assert set(found) == {
        "python", "versions", "system", "processor", "cores", "memory", "threads"
    }  # fmt: skip
    assert found["cores"] >= 1
    assert "/" not in "".join(map(str, found["versions"].values()))

"""Memory of a process and of those that it has started."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from unispectral.bench import _machine

HUNGRY = "kept = bytearray(b'x') * 2**20 * 60; print('ready', flush=True); input()"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {HUNGRY!r}])"


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_memory_of_children_counts() -> None:
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
    found = _machine.environment(threads=2)
    assert found["software"].startswith("Python 3.")
    assert "scikit-learn " in found["software"]
    assert " cores, " in found["machine"]
    assert found["machine"].endswith(", 2 thread(s) per fit")
    assert "/" not in found["software"]
    assert os.path.expanduser("~") not in found["machine"]

"""Memory of a process and of those that it has started."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from unispectral._errors import plural
from unispectral.bench import _machine
from unispectral.bench._words import size

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
    assert re.search(r", 1 core, |, \d+ cores, ", found["machine"])
    assert found["machine"].endswith(", 2 threads per fit")
    assert "/" not in found["software"]
    assert os.path.expanduser("~") not in found["machine"]


@pytest.mark.parametrize(
    ("number", "words"),
    [(100 * 2**10, "0.09766 MB"), (10.5 * 2**20, "10.5 MB"), (2**30, "1.00 GB"), (6e9, "5.59 GB")],
)
def test_sizes_in_words(number: float, words: str) -> None:
    assert size(number) == words


def test_one_is_not_several() -> None:
    assert [plural(n, "cell") for n in (0, 1, 2)] == ["0 cells", "1 cell", "2 cells"]

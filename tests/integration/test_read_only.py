"""A read-only installation without a home: where nothing can be written, a fit still works."""

from __future__ import annotations

import os
import subprocess
import sys

_REFUSE = """
import errno, os, sys
READING = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_DIRECTORY", 0)
tried = []

def refuse(event, arguments):
    if event == "os.mkdir" or (event == "open" and arguments[2] & ~READING):
        if not str(arguments[0]).startswith("/dev/"):
            tried.append(arguments[0])
            raise OSError(errno.EROFS, "Read-only file system", arguments[0])

sys.dont_write_bytecode = True
sys.addaudithook(refuse)
"""

_FIT = """
from sklearn.datasets import load_iris  # two of its species hardly differ
from unispectral import SCSK, UnifiedSpectralClustering

X = load_iris().data
found = UnifiedSpectralClustering(2).fit(X)
print(len(set(found.predict(X[:5]))), len(set(SCSK(2).fit_predict(X))))
assert tried, "nothing was refused: the test shows nothing"
"""


def test_a_default_fit_needs_nothing_that_can_be_written():
    """Every file that the process opens to write, or folder that it makes, is refused.

    Numba then has nowhere to keep what it compiled, and raises by itself.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    }
    environment["HOME"] = "/nonexistent"
    done = subprocess.run(
        [sys.executable, "-c", _REFUSE + _FIT],
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1", "2"]
    assert not done.stderr

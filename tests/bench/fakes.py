"""Estimators that misbehave, for the tests of the runner; importable by its workers."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

import numpy as np


class _Fake:
    def __init__(
        self, n_clusters: int = 2, random_state: int = 0, seconds: float = 0.0, folder: str = ""
    ) -> None:
        self.n_clusters, self.random_state = n_clusters, random_state
        self.seconds, self.folder = seconds, folder

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return dict(vars(self))

    def fit(self, X: Any, y: Any = None) -> _Fake:
        raise NotImplementedError

    def _finish(self, X: Any) -> Any:
        rng = np.random.default_rng(self.random_state)
        self.labels_ = rng.integers(self.n_clusters, size=X.shape[0])
        return self


class Steady(_Fake):
    """Sleeps for a while, then labels at random, the same for the same seed."""

    def fit(self, X: Any, y: Any = None) -> Any:
        time.sleep(self.seconds)
        return self._finish(X)


class Busy(_Fake):
    """Spins for a while without a system call."""

    def fit(self, X: Any, y: Any = None) -> Any:
        end = time.process_time() + self.seconds
        while time.process_time() < end:
            pass
        return self._finish(X)


class Stuck(_Fake):
    """Never comes back from compiled code, and holds the interpreter's lock meanwhile."""

    def fit(self, X: Any, y: Any = None) -> Any:
        sum(range(10**14))
        return self._finish(X)


class Hungry(_Fake):
    """Takes memory in small pieces, until somebody stops it."""

    def fit(self, X: Any, y: Any = None) -> Any:
        kept = []
        for _ in range(4000):
            kept.append(np.ones(2**17))
            time.sleep(0.002)
        return self._finish(X)


class Greedy(_Fake):
    """Asks for all its memory at once."""

    def fit(self, X: Any, y: Any = None) -> Any:
        np.zeros(2**32)
        return self._finish(X)


class Crash(_Fake):
    """Dies of a broken pointer."""

    def fit(self, X: Any, y: Any = None) -> Any:
        os.kill(os.getpid(), signal.SIGSEGV)
        return self._finish(X)


class CrashOnce(_Fake):
    """Dies the first time, as if somebody had killed it."""

    def fit(self, X: Any, y: Any = None) -> Any:
        mark = os.path.join(self.folder, f"crashed-{self.random_state}")
        if not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return self._finish(X)


class Noisy(_Fake):
    """Prints, warns and reads where it should not."""

    def fit(self, X: Any, y: Any = None) -> Any:
        import warnings

        print("\x00\x00\x00\x05hello", flush=True)
        os.write(1, b"raw bytes on the answers' descriptor")
        assert sys.stdin.read() == ""
        warnings.warn("this is only a warning", UserWarning, stacklevel=1)
        return self._finish(X)


class Wrong(_Fake):
    """Returns one label too few."""

    def fit(self, X: Any, y: Any = None) -> Any:
        self._finish(X)
        self.labels_ = self.labels_[1:]
        return self


class Peeking(_Fake):
    """Looks for the true classes and fails if it finds any."""

    def fit(self, X: Any, y: Any = None) -> Any:
        assert y is None
        assert not any(name in vars(self) for name in ("target", "truth", "y"))
        return self._finish(X)


class Writing(_Fake):
    """Writes into its input, which other cells share."""

    def __init__(
        self,
        n_clusters: int = 2,
        random_state: int = 0,
        seconds: float = 0.0,
        folder: str = "",
        kernel: str = "",
    ) -> None:
        super().__init__(n_clusters, random_state, seconds, folder)
        self.kernel = kernel

    def fit(self, X: Any, y: Any = None) -> Any:
        X[0, 0] = 1e9
        return self._finish(X)


class Parent(_Fake):
    """Starts processes, one of them in a session of its own, and waits for them."""

    command = "import time; time.sleep(1200)"

    def fit(self, X: Any, y: Any = None) -> Any:
        import subprocess

        command = [sys.executable, "-S", "-c", self.command, self.folder]
        children = [subprocess.Popen(command, start_new_session=bool(own)) for own in range(2)]
        for child in children:
            with open(os.path.join(self.folder, f"child-{child.pid}"), "w"):
                pass
        for child in children:
            child.wait()
        return self._finish(X)


class HungryParent(Parent):
    """Its children take the memory, 400 MB each."""

    command = "import time; kept = bytearray(b'x') * 2**20 * 400; time.sleep(1200)"


class CrashingParent(Parent):
    """Dies and leaves its children behind."""

    command = "import os, signal, time; os.kill(os.getppid(), signal.SIGSEGV); time.sleep(1200)"


class Surrogate(_Fake):
    """Speaks of a file whose name is no text."""

    def fit(self, X: Any, y: Any = None) -> Any:
        import warnings

        warnings.warn("no such file: caf\udce9", UserWarning, stacklevel=1)
        if self.seconds:
            raise OSError("no such file: caf\udce9")
        return self._finish(X)

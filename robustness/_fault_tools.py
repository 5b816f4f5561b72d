"""Ways to hurt a process: a fork that dies at a file operation, a disk that fills, a clock that
jumps. Used by :mod:`robustness.faults`."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

#: What Python tells its auditors about files.
_EVENTS = {
    "open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "os.truncate",
    "shutil.rmtree", "tempfile.mkdtemp", "subprocess.Popen",
}  # fmt: skip


class Ended:
    """How a child ended, and what it said on standard error."""

    def __init__(self, status: int, said: str) -> None:
        self.killed = os.WIFSIGNALED(status)
        self.code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        self.said = said


def run_child(
    action: Callable[[], int],
    *,
    prepare: Callable[[], None] | None = None,
    kill_at: int | None = None,
    kill_after: float | None = None,
    folder: Path | None = None,
    stdout: int | None = None,
    limit: float = 120.0,
) -> Ended:
    """Run an action in a fork of this process.

    Parameters
    ----------
    action : callable
        Returns an exit code.
    prepare : callable
        Called in the child first.
    kill_at : int
        Dies by SIGKILL at this file operation in `folder`, counted from one.
    kill_after : float
        Is killed after so many seconds.
    stdout : int
        A descriptor for standard output.
    """
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            _be_child(action, prepare, kill_at, folder, errors.fileno(), stdout)
        status = _wait(child, kill_after, limit)
        errors.seek(0)
        return Ended(status, errors.read().decode("utf-8", "replace"))


def _be_child(action, prepare, kill_at, folder, errors, stdout) -> None:
    code = 99
    try:
        os.setpgid(0, 0)
        silence = os.open(os.devnull, os.O_RDWR)
        os.dup2(silence, 0)
        os.dup2(stdout if stdout is not None else silence, 1)
        os.dup2(errors, 2)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        if kill_at is not None and folder is not None:
            _die_at(kill_at, str(folder))
        if prepare is not None:
            prepare()
        code = action()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.flush()
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0)


def _wait(child: int, kill_after: float | None, limit: float) -> int:
    """Wait for the child; kill it when its time has come. Its own children have to notice."""
    end = time.monotonic() + (kill_after if kill_after is not None else limit)
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        if time.monotonic() > end:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
            return os.waitpid(child, 0)[1]
        time.sleep(0.002)


def _die_at(number: int, folder: str) -> None:
    seen = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        if event in _EVENTS and any(folder in str(one) for one in arguments[:2]):
            seen += 1
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def count_operations(action: Callable[[], int], folder: Path) -> int:
    """How many file operations in `folder` an undisturbed run makes."""
    reader, writer = os.pipe()

    def counted() -> int:
        seen = 0

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal seen
            if event in _EVENTS and any(str(folder) in str(one) for one in arguments[:2]):
                seen += 1

        sys.addaudithook(hook)
        code = action()
        os.write(writer, str(seen).encode())
        return code

    run_child(counted)
    os.close(writer)
    with os.fdopen(reader) as stream:
        return int(stream.read() or 0)


@contextlib.contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[tuple[Path, Callable[[], None], str]]:
    """A folder on a disk of this size, what a child has to do first, and how it is done."""
    place = folder / "disk"
    place.mkdir(exist_ok=True)
    mounted = os.geteuid() == 0 and not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    ).returncode  # fmt: skip
    try:
        if mounted:
            yield place, lambda: None, "a small file system"
        else:

            def limit() -> None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                size = kilobytes * 1024 // 4
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

            yield place, limit, "a limit on the size of files"
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(place)], capture_output=True, check=False)


@contextlib.contextmanager
def unwritable(folder: Path) -> Iterator[Callable[[], None]]:
    """Nobody may write to the folder; root becomes nobody first."""
    mode = folder.stat().st_mode
    folder.chmod(0o555)

    def prepare() -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

    try:
        yield prepare
    finally:
        folder.chmod(mode)


def jumping_clock(rng: np.random.Generator) -> Callable[[], None]:
    """Make the wall clock of a child jump by days at every look."""
    jumps = rng.uniform(-400, 400, 1000) * 86_400

    def prepare() -> None:
        from unispectral.bench import store

        real, calls = time.time, iter(range(10**9))
        time.time = lambda: real() + float(jumps[next(calls) % len(jumps)])
        store._now = lambda: time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(time.time()))

    return prepare

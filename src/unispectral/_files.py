"""Files that are either whole or not there: written beside their final name, then renamed."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_PREFIX = ".writing-unispectral-"
_TEMPORARY = re.compile(re.escape(_PREFIX) + "[a-z0-9_]{8}")


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path to write to; it becomes `path` when the block ends well.

    The temporary file lies in a hidden folder of its own beside `path`: on the same disk, so that
    the rename is atomic, and under the same name, so that writers which look at the suffix
    (``np.savez``, ``savefig``) do what they would have done, and no ``*.json`` finds it. After
    any exception, Ctrl-C included, it is removed and a file already at `path` stays as it was.
    What a killed process left behind in the same folder is removed by the next writer there.
    A link is followed; a device or a pipe cannot be renamed and is written directly.

    An OSError says in one sentence that the folder is missing or may not be written to, or that
    the disk is full.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        yield target
        return
    _remove_stale(target.parent)
    with _sentence_if_full(target):
        folder, lock = _temporary_folder(target)
    try:
        temporary = folder / target.name
        with _sentence_if_full(target):
            yield temporary
            _rename(temporary, target)
    finally:
        # What cannot be removed now is removed by the next writer, if nobody holds the lock.
        with contextlib.suppress(OSError):
            shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def write_text_atomic(path: str | os.PathLike[str], text: str) -> None:
    r"""Write a whole text file (UTF-8, lines ending in ``\n``), or none."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(text.encode())


def _temporary_folder(target: Path) -> tuple[Path, int | None]:
    """Make the hidden folder in which the temporary file is written, and lock it."""
    if target.is_dir():
        raise IsADirectoryError(_refusal(target, "it is a folder; name a file in it"))
    try:
        while True:
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=target.parent))
            lock = _lock(folder, wait=True)
            if os.path.exists(folder):  # else another writer took it for stale before the lock
                return folder, lock
            if lock is not None:
                os.close(lock)
    except (FileNotFoundError, NotADirectoryError) as error:
        reason = f"there is no folder {str(target.parent)!r}; make it first"
        raise FileNotFoundError(_refusal(target, reason)) from error
    except OSError as error:
        if isinstance(error, PermissionError) or error.errno == errno.EROFS:
            reason = f"the folder {str(target.parent)!r} may not be written to; choose another one"
            raise PermissionError(_refusal(target, reason)) from error
        raise


def _lock(folder: Path, *, wait: bool) -> int | None:
    """Lock a folder; the system frees the lock when the process ends, however it ends.

    A process number would say less: it may be used again, and another container on the same disk
    has numbers of its own.
    """
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # in use, or a file system without locks
        os.close(descriptor)
        return None
    return descriptor


def _remove_stale(parent: Path) -> None:
    """Remove the temporary folders of processes that were killed: nobody holds their lock."""
    with contextlib.suppress(OSError):
        for name in filter(_TEMPORARY.fullmatch, os.listdir(parent)):
            lock = _lock(parent / name, wait=False)
            if lock is not None:
                shutil.rmtree(parent / name, ignore_errors=True)
                os.close(lock)


def _refusal(target: Path, reason: str) -> str:
    return f"Cannot write {str(target)!r}: {reason}."


@contextlib.contextmanager
def _sentence_if_full(target: Path) -> Iterator[None]:
    """Turn the bare 'no space left' of whoever writes into a sentence with the file's name."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        reason = "the disk is full or a size limit is reached; nothing was written"
        sentence = OSError(_refusal(target, reason))
        sentence.errno = error.errno
        raise sentence from error


def _rename(temporary: Path, target: Path) -> None:
    """Force the file to disk, then give it its name; a crash leaves the old or the new one."""
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    if target.exists():
        shutil.copymode(target, temporary)
    os.replace(temporary, target)
    if os.name == "posix":  # the name itself lives in the folder, which has to reach the disk too
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

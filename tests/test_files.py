"""A file is whole or not there, whatever happens while it is written."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

import numpy as np
import pytest

from unispectral._files import atomic_path, write_text_atomic


def names(folder):
    return sorted(os.listdir(folder))


def break_off(target, fault):
    with atomic_path(target) as temporary:
        temporary.write_text("half")
        raise fault


def test_writes_and_leaves_nothing_else(tmp_path):
    write_text_atomic(tmp_path / "a.txt", "première\n")
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "première\n"
    assert names(tmp_path) == ["a.txt"]


def test_suffix_is_kept_for_writers_that_look_at_it(tmp_path):
    with atomic_path(tmp_path / "x.npz") as temporary:
        np.savez(temporary, a=np.arange(3))
    assert names(tmp_path) == ["x.npz"]


@pytest.mark.parametrize("interruption", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_old_file_survives_any_exception(tmp_path, interruption):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(interruption):
        break_off(target, interruption)
    assert target.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_forgotten_write_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "a.txt"):
        pass
    assert names(tmp_path) == []


def test_missing_folder_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere.*make it first"):
        write_text_atomic(tmp_path / "nowhere" / "a.txt", "x")


def test_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_text_atomic(tmp_path / "file" / "a.txt", "x")


def test_folder_as_target_says_so(tmp_path):
    with pytest.raises(IsADirectoryError, match="it is a folder; name a file in it"):
        write_text_atomic(tmp_path, "x")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_read_only_folder_says_so(tmp_path, monkeypatch, number):
    # The superuser may write anywhere, so the refusal is played.
    def refuse(**_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with pytest.raises(PermissionError, match="may not be written to; choose another one"):
        write_text_atomic(tmp_path / "a.txt", "x")


def test_disk_full_says_so_and_keeps_the_old_file(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(OSError, match=r"a\.txt.*disk is full") as caught:
        break_off(target, OSError(errno.ENOSPC, "No space left on device"))
    assert caught.value.errno == errno.ENOSPC
    assert target.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX resource limits")
def test_real_size_limit(tmp_path):
    code = """
        import resource, signal, sys
        from unispectral._files import write_text_atomic
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            write_text_atomic(sys.argv[1], "x" * 5000)
        except OSError as error:
            print(error)
    """
    run = subprocess.run(
        [sys.executable, "-B", "-c", textwrap.dedent(code), str(tmp_path / "a.bin")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "a size limit is reached; nothing was written" in run.stdout
    assert names(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
def test_kill_leaves_the_old_file(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    code = """
        import sys, time
        from unispectral._files import atomic_path
        with atomic_path(sys.argv[1]) as temporary:
            temporary.write_text("half")
            print("ready", flush=True)
            time.sleep(3600)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(target)], stdout=subprocess.PIPE
    ) as run:
        assert run.stdout.readline() == b"ready\n"
        run.send_signal(signal.SIGKILL)
    assert target.read_text() == "old"
    assert list(tmp_path.glob("*.txt")) == [target]
    assert len(names(tmp_path)) == 2
    mine = tmp_path / ".writing-a-letter"
    mine.mkdir()
    write_text_atomic(tmp_path / "b.txt", "next")
    assert names(tmp_path) == [mine.name, "a.txt", "b.txt"]


@pytest.mark.skipif(os.name != "posix", reason="needs locks of folders")
def test_a_writer_at_work_is_left_alone(tmp_path):
    with atomic_path(tmp_path / "a.txt") as temporary:
        temporary.write_text("slow")
        write_text_atomic(tmp_path / "b.txt", "quick")
        assert temporary.read_text() == "slow"
    assert names(tmp_path) == ["a.txt", "b.txt"]


def test_many_writers_of_one_name(tmp_path):
    target = tmp_path / "a.txt"
    contents = [str(i) * 20_000 for i in range(8)]
    threads = [
        threading.Thread(target=lambda c=c: [write_text_atomic(target, c) for _ in range(5)])
        for c in contents
    ]
    for thread in threads:
        thread.start()
    seen = set()
    while any(thread.is_alive() for thread in threads):
        if target.exists():
            seen.add(target.read_text())
        time.sleep(0.001)
    assert {target.read_text()} | seen <= set(contents)
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.skipif(os.name != "posix", reason="POSIX modes, links and devices")
def test_mode_link_and_device(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("old")
    secret.chmod(0o600)
    link = tmp_path / "link.txt"
    link.symlink_to(secret)
    write_text_atomic(link, "new")
    assert link.is_symlink()
    assert secret.read_text() == "new"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    write_text_atomic("/dev/null", "gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_long_name(tmp_path):
    name = "n" * 250 + ".txt"
    write_text_atomic(tmp_path / name, "x")
    assert names(tmp_path) == [name]

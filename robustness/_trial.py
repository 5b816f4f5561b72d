"""What tests run in other processes, which must be able to import it."""

from __future__ import annotations

import os
import sys
import time
import warnings
from multiprocessing.connection import Connection

from unispectral._run import Run

#: What the commands import; a process that others are forked from imports it once.
IMPORTED = ["pandas", "sklearn.cluster", "sklearn.metrics", "unispectral.cli._app"]


def run_command(words: list[str], folder: str, stdin: str, stdout: str, stderr: str) -> None:
    """Run the command line in this process, with files for its standard streams."""
    from unispectral.cli import main

    os.environ["COLUMNS"] = "100"
    os.environ["OMP_NUM_THREADS"] = "1"
    os.chdir(folder)
    for number, (path, flags) in enumerate(
        ((stdin, os.O_RDONLY), (stdout, os.O_WRONLY), (stderr, os.O_WRONLY))
    ):
        file = os.open(path, flags)
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.argv = ["unispectral", *words]
    main()


def count_threads(pipe: Connection) -> None:
    """Tell how many threads a fit would use here, and how many warnings asking for that gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pipe.send((Run.of(None).n_threads, len(caught)))


def work(case: str) -> tuple[str, str]:
    """End the process for ``"die"``, compute for a minute for ``"hang"``, else answer at once."""
    if case == "die":
        os._exit(7)
    if case == "hang":
        end = time.process_time() + 60
        while time.process_time() < end:
            pass
    return "works", ""

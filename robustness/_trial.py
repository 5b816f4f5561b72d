"""What tests run in other processes, which must be able to import it."""

from __future__ import annotations

import os
import time
import warnings
from multiprocessing.connection import Connection

from unispectral._run import Run

__all__ = ["count_threads", "work"]


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

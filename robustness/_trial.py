"""Cases that work, die or hang: what the pool of worker processes is tried with."""

from __future__ import annotations

import os
import time

__all__ = ["work"]


def work(case: str) -> tuple[str, str]:
    """End the process for ``"die"``, compute for a minute for ``"hang"``, else answer at once."""
    if case == "die":
        os._exit(7)
    if case == "hang":
        end = time.process_time() + 60
        while time.process_time() < end:
            pass
    return "works", ""

"""Small files whose meaning is large, for every reader and loader.

A bomb is made from its name alone. A factor 1 to 6 makes the same kind of file larger: the small
ones should be read, the large ones refused, and none may take the machine down.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

#: How large a bomb is meant to be, from harmless to absurd.
FACTORS = (1, 2, 3, 4, 5, 6)
Maker = Callable[[int], bytes]
#: By format and kind; the name of a format is also the ending of the file.
BOMBS: dict[tuple[str, str], Maker] = {}


def add_bomb(format: str, kind: str) -> Callable[[Maker], Maker]:
    """Enter the function below under a format and a kind."""

    def add(maker: Maker) -> Maker:
        BOMBS[format, kind] = maker
        return maker

    return add


def bomb(format: str, kind: str, factor: int) -> bytes:
    """The bytes of one file."""
    return BOMBS[format, kind](factor)


# Each family enters what it makes.
for _family in ("text", "sheets", "parquet", "arrays", "hdf", "models", "stores"):
    importlib.import_module(f"robustness._bombs_{_family}")

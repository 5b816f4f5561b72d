"""The command line: ``unispectral cluster table.csv -k 5``."""

from __future__ import annotations

import gc
import sys

__all__ = ["main"]

#: Importing makes hundreds of thousands of objects that stay; looking for garbage among them
#: after every 700, as Python does, takes a tenth of a short run.
_COLLECT_AFTER = 200_000


def main() -> None:
    """Run the command line; the entry point of ``unispectral``."""
    gc.set_threshold(_COLLECT_AFTER)
    try:
        from unispectral.cli._app import run
    except ImportError as error:
        if error.name != "click":
            raise
        remedy = "install it with: pip install 'unispectral[cli]'."
        sys.exit(f"Error: the command line needs click; {remedy}")
    sys.exit(run())

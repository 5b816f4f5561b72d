"""The command line: ``unispectral cluster table.csv -k 5``."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; the entry point of ``unispectral``."""
    try:
        from unispectral.cli._app import run
    except ImportError as error:
        if error.name != "click":
            raise
        sys.stderr.write(
            "Error: the command line needs click; install it with: "
            "pip install 'unispectral[cli]'.\n"
        )
        sys.exit(1)
    sys.exit(run())

"""Numbers in words."""

from __future__ import annotations


def size(number: float) -> str:
    """Bytes in gigabytes, or in megabytes where that would be a fraction."""
    if number >= 2**30:
        return f"{number / 2**30:.2f} GB"
    return f"{number / 2**20:.4g} MB"

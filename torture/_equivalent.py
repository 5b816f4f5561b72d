"""Mutants that no test can kill, or none should: what they change makes no difference.

By module and by what was changed, as :mod:`torture.mutation` writes it.
"""

from __future__ import annotations

__all__ = ["reason"]

_REASONS: dict[str, dict[str, str]] = {}


def reason(module: str, what: str) -> str:
    """Why a mutant makes no difference; empty where nobody knows."""
    return _REASONS.get(module, {}).get(what, "")

"""A sentence in place of a hang: the libraries underneath live in one interpreter of a process."""

from __future__ import annotations

import importlib

__all__ = ["require_main_interpreter"]


def require_main_interpreter() -> None:
    """Raise ImportError in a sub-interpreter.

    NumPy can be loaded into one interpreter of a process only, and the import of scikit-learn
    never returns in a second one.

    Examples
    --------
    >>> require_main_interpreter()
    """
    for name in ("_interpreters", "_xxsubinterpreters"):  # since Python 3.13, and before
        try:
            known = importlib.import_module(name)
            second = known.get_current() != known.get_main()
        except (ImportError, AttributeError):
            continue
        if second:
            raise ImportError(
                "unispectral cannot be used in a sub-interpreter, because NumPy and scikit-learn "
                "do not support them; use threads or processes."
            )
        return

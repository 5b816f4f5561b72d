"""Columns of a frame that say which row it is, or when it was, and not what it is like."""

from __future__ import annotations

from typing import Any

import numpy as np

from unispectral._errors import DoubtfulResultWarning, Sentence, warn
from unispectral.tables._columns import Reading
from unispectral.tables._kinds import judge
from unispectral.tables._names import is_code, is_year, names_rows

#: Columns and rows that are looked at; wider tables are of one kind.
_COLUMNS, _ROWS = 1_000, 100_000
_WORDS = {"id": "names the rows", "code": "holds codes", "year": "holds years"}


def suspicious_columns(X: Any) -> dict[str, str]:
    """Columns of a frame that look like ids, codes or years, and what they look like.

    Only whole numbers with a name that says so are looked at, so that this costs nothing.

    >>> import pandas as pd
    >>> suspicious_columns(pd.DataFrame({"id": [1, 2, 3], "height": [1.7, 1.8, 1.6]}))
    {'id': 'id'}
    """
    if not hasattr(X, "columns") or not hasattr(X, "dtypes") or X.shape[1] > _COLUMNS:
        return {}
    found = {}
    for name in X.columns:
        called = str(name)
        if not (names_rows(called) or is_year(called) == "when" or is_code(called)):
            continue
        values = np.asarray(X[name])[:_ROWS]
        if values.ndim != 1 or values.dtype.kind not in "iu" or len(np.unique(values)) < 2:
            continue
        reading = Reading({"kind": "number", "decimal": "."}, values.astype(np.float64))
        judged = judge(called, reading, len(values), 20)
        if judged.role != "use" or judged.kind == "code":
            found[called] = judged.kind
    return found


def warn_of_columns(X: object) -> None:
    """Name the columns of a frame that should perhaps not be clustered by."""
    if found := suspicious_columns(X):
        listed = "; ".join(f"{name!r} {_WORDS.get(kind, kind)}" for name, kind in found.items())
        warn(
            Sentence(
                "{X} has columns that say which sample it is or when, not what it is like: "
                f"{listed}. Leave them out, or let unispectral.tables.TablePreparer look at the "
                "columns.",
                "X",
            ),
            DoubtfulResultWarning,
        )

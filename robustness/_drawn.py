"""Tables that hypothesis draws: any type, any shape, any value, lists of anything.

A case is the last of a short run of hypothesis with a seed, so that it can be drawn again.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

#: The first draws are the simplest ones; the last of so many are not.
_DRAWS = 12


@lru_cache(maxsize=1)
def _tables() -> Any:
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as hnp

    shape = st.tuples(st.integers(0, 24), st.integers(0, 6))
    cell = st.one_of(
        st.none(), st.floats(), st.integers(), st.text(max_size=5), st.booleans(),
        st.complex_numbers(), st.dates(), st.binary(max_size=3), st.decimals(), st.fractions(),
    )  # fmt: skip
    row = st.lists(st.floats(), min_size=3, max_size=3)
    dtype = st.one_of(
        hnp.scalar_dtypes(), hnp.unicode_string_dtypes(), hnp.byte_string_dtypes(),
        hnp.array_dtypes(), hnp.nested_dtypes(max_leaves=3),
    )  # fmt: skip
    return st.one_of(
        hnp.arrays("float64", shape, elements=st.floats(width=64)),
        hnp.arrays("float64", shape, elements=st.floats(allow_nan=False, allow_infinity=False)),
        hnp.arrays("float32", shape, elements=st.floats(-9, 9, width=16)),
        hnp.arrays("float64", shape, elements=st.floats(-9, 9)),
        hnp.arrays("int64", shape),
        hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=12)),
        st.lists(row, max_size=15),
        st.lists(st.lists(cell, max_size=4), max_size=12),
        st.dictionaries(st.text(max_size=3), st.lists(row, max_size=8), max_size=3),
        cell,
    )


def drawn_table(seed: int) -> Any:
    """The table of a seed."""
    import hypothesis

    found: list[Any] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=_DRAWS,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(_tables())
    def draw(table: Any) -> None:
        found.append(table)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draw()
    return found[-1]

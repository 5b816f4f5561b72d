"""`TablePreparer`: mixed tables as numbers, and how that is repeated on the next table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from unispectral._compat import Interval, StrOptions, fit_context, optional
from unispectral._errors import InputError
from unispectral.tables import _encode
from unispectral.tables._preparation import IMPUTATIONS, Preparation, linear_part, odd_values
from unispectral.tables._profile import MAX_CATEGORIES
from unispectral.tables._scaling import SCALES


class TablePreparer(TransformerMixin, BaseEstimator):
    """Make numbers of a table with columns of any kind.

    Each column is looked at by :func:`profile`: ids, codes, years, dates, free text, constant
    columns and copies of others are left out, with the reason. Numbers written as text
    (``"$85.40"``, ``"1,234"``, ``"12 %"``) are read, answers such as yes and no become 1 and 0,
    levels such as never and always become numbers in their order, and each category gets a column
    of zeros and ones. New tables are treated as the one of the fit was: columns are found by name,
    a category that was not seen gets zeros in all columns of its group.

    Parameters
    ----------
    use : sequence of str, default=()
        Columns that are used, whatever they look like.
    leave_out : sequence of str, default=()
        Columns that are not.
    order : list of lists, or dict of lists, default=()
        Answers from the least to the most, for all columns or by the column's name, where they are
        of no scale that is known.
    geo : (str, str), default=()
        Columns with latitude and longitude: rows are compared by the distance on the Earth.
    impute : {"median", "mean", "zero"} or None, default="median"
        What stands in for missing numbers. Missing answers and categories become the most
        frequent one. None leaves NaN.
    scale : {"auto", "standard", "robust", "log", "rank", "unit", "none"}, default="auto"
        How the columns made are scaled. With ``"standard"`` numbers get mean 0 and standard
        deviation 1, and two different categories, or answers, are half a standard
        deviation apart, however rare they are: at a larger distance, categories cut clusters of
        numbers into pieces. A number with two values counts as an answer. ``"auto"`` does the
        same after taking logarithms of columns that are clearly skewed, ``"log"`` and ``"rank"``
        after logarithms or ranks of all numbers; ``"robust"`` takes medians and quartiles instead;
        ``"unit"`` scales rows.
    max_categories : int, default=20
        A column with more different texts than this is left out.
    dates : {"leave out", "days"}, default="leave out"
        Whether dates become days since 1970; those that can be read in several ways, as
        ``1/2/2024``, are left out.

    Attributes
    ----------
    columns_ : list of dict
        For each column of the table its ``"name"``, ``"what"`` it is (as :func:`profile` says) and
        the ``"kind"`` that it is read as ("number", "yes/no", "ordinal", "category", "date",
        "place" or "left out"); ``"why"`` it is left out, or else how many values were
        ``"missing"`` and what was put there (``"fill"``), and the ``"categories"``.
    centre_, spread_ : ndarray of shape (n_features_out,) or None
        What is subtracted and divided by.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names, if it was a frame with names.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({
    ...     "price": ["$85.40", "$1,200", None], "member": ["yes", "no", "no"],
    ...     "city": ["Ulm", "Köln", "Ulm"], "note": ["late", "a gift", "call back"],
    ... })
    >>> preparer = TablePreparer(scale="none").set_output(transform="pandas")
    >>> preparer.fit_transform(table)
        price  member  city=Köln  city=Ulm
    0    85.4     1.0        0.0       1.0
    1  1200.0     0.0        1.0       0.0
    2   642.7     0.0        0.0       1.0
    >>> preparer.columns_[3]["why"]
    'is free text, another in every row'
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "use": ["array-like"],
        "leave_out": ["array-like"],
        "order": ["array-like", dict],
        "geo": ["array-like"],
        "impute": [StrOptions(set(IMPUTATIONS)), None],
        "scale": [StrOptions(set(SCALES))],
        "max_categories": [Interval(Integral, 1, None, closed="left")],
        "dates": [StrOptions({"leave out", "days"})],
    }

    def __init__(
        self,
        *,
        use: Sequence[str] = (),
        leave_out: Sequence[str] = (),
        order: Sequence[Sequence[str]] | Mapping[str, Sequence[str]] = (),
        geo: Sequence[str] = (),
        impute: str | None = "median",
        scale: str = "auto",
        max_categories: int = MAX_CATEGORIES,
        dates: str = "leave out",
    ) -> None:
        self.use = use
        self.leave_out = leave_out
        self.order = order
        self.geo = geo
        self.impute = impute
        self.scale = scale
        self.max_categories = max_categories
        self.dates = dates

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: object, y: object = None) -> Self:
        """Decide how each column is treated.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        TablePreparer
            Itself.
        """
        frame = self._frame(X, fit=True)
        given: dict[str, Any] = {
            name: tuple(getattr(self, name)) for name in ("use", "leave_out", "geo")
        }
        same = ("order", "impute", "scale", "max_categories", "dates")
        choices = _encode.Choices(**given, **{name: getattr(self, name) for name in same})
        self.columns_, _ = _encode.decide(frame, choices)
        if not _encode.list_used(self.columns_):
            if not self.columns_:
                raise InputError("X", "has no columns")
            dropped = _encode.list_left_out(self.columns_)[:5]
            reasons = "; ".join(f"{name!r} {why}" for name, why in dropped)
            raise InputError("X", f"has no column that can be used ({reasons})")
        names = _encode.column_names(self.columns_)
        ready = Preparation.fit(self._numbers(frame), names, None, self.scale, self.columns_)
        self.centre_, self.spread_ = ready.centre, ready.spread
        return self

    def transform(self, X: object) -> np.ndarray:
        """Make numbers of a table.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            float64.
        """
        check_is_fitted(self)
        names = tuple(self.get_feature_names_out())
        ready = Preparation(names, linear_part(self.scale), self.centre_, self.spread_)
        return ready.apply(self._numbers(self._frame(X, fit=False)))

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Names of the columns made; a category's is ``column=category``.

        Parameters
        ----------
        input_features : None
            Ignored; the table's own names are used.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        return np.array(_encode.column_names(self.columns_), dtype=object)

    def _frame(self, X: Any, *, fit: bool) -> Any:
        pandas = optional("pandas", extra="io")
        if hasattr(X, "to_pandas"):
            X = X.to_pandas()
        if not hasattr(X, "iloc"):
            X = check_array(X, dtype=None, ensure_all_finite=False)
            validate_data(self, X, reset=fit, skip_check_array=True)
            names = getattr(self, "feature_names_in_", None)
            names = [f"x{j}" for j in range(X.shape[1])] if names is None else names
            return pandas.DataFrame(X, columns=[str(name) for name in names]).infer_objects()
        frame = X.set_axis([str(name) for name in X.columns], axis=1)
        if not len(frame):
            raise InputError("X", "has no rows")
        if not frame.columns.is_unique:
            twice = frame.columns[frame.columns.duplicated()][0]
            raise InputError("X", f"has two columns named {twice!r}", "rename one")
        if fit:
            validate_data(self, X, skip_check_array=True)
        else:
            names = _encode.sources(self.columns_)
            if absent := [name for name in names if name not in frame.columns]:
                listed = ", ".join(map(repr, absent[:5])) + " and more" * (len(absent) > 5)
                word = "column" if len(absent) == 1 else "columns"
                raise InputError("X", f"lacks the {word} {listed}, which the fit had")
        return frame

    def _numbers(self, frame: object) -> np.ndarray:
        values, _ = _encode.encode(frame, self.columns_)
        if endless := odd_values(values, _encode.column_names(self.columns_), "infinite"):
            raise InputError("X", f"has {endless}", "replace them")
        return values

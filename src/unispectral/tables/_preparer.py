"""`TablePreparer`: mixed tables as numbers, as a transformer of scikit-learn."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from unispectral._compat import Interval, StrOptions, fit_context, optional
from unispectral._errors import InputError
from unispectral.tables._encode import MAX_CATEGORIES, column_names, decide, encode, left_out, used
from unispectral.tables._prepare import IMPUTATIONS, SCALES, Preparation, infinite_values

__all__ = ["TablePreparer"]


class TablePreparer(TransformerMixin, BaseEstimator):
    """Make numbers of a table with columns of any kind.

    Numbers written as text (``"$85.40"``, ``"1,234"``, ``"12 %"``) are read, answers such as yes
    and no become 1 and 0, and each category gets a column of zeros and ones. What cannot be used
    is left out, with the reason. New tables are treated as the one of the fit was: columns are
    found by name, a category that was not seen gets zeros in all columns of its group.

    Parameters
    ----------
    impute : {"median", "mean", "zero"} or None, default="median"
        What stands in for missing numbers. Missing answers and categories become the most
        frequent one. None leaves NaN.
    scale : {"none", "standard", "unit"}, default="standard"
        How the columns made are scaled. With ``"standard"`` numbers get mean 0 and standard
        deviation 1, and two different categories, or answers, are half a standard
        deviation apart, however rare they are: at a larger distance, categories cut clusters of
        numbers into pieces. A number with two values counts as an answer.
    max_categories : int, default=20
        A column with more different texts than this is left out.
    dates : {"leave out", "days"}, default="leave out"
        Whether dates become days since 1970; text must then hold dates as ``2024-05-31``.

    Attributes
    ----------
    columns_ : list of dict
        For each column of the table its ``"name"`` and ``"kind"`` ("number", "yes/no",
        "category", "date" or "left out"), ``"why"`` it is left out, or else how many values were
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
    'a different text in every row'
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "impute": [StrOptions(set(IMPUTATIONS)), None],
        "scale": [StrOptions(set(SCALES))],
        "max_categories": [Interval(Integral, 1, None, closed="left")],
        "dates": [StrOptions({"leave out", "days"})],
    }

    def __init__(
        self,
        *,
        impute: str | None = "median",
        scale: str = "standard",
        max_categories: int = MAX_CATEGORIES,
        dates: str = "leave out",
    ) -> None:
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
    def fit(self, X: Any, y: Any = None) -> Self:
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
        self.columns_ = decide(
            frame, impute=self.impute, max_categories=self.max_categories, dates=self.dates
        )
        if not used(self.columns_):
            reasons = "; ".join(f"{name!r}: {why}" for name, why in left_out(self.columns_)[:5])
            raise InputError("X", f"has no column that can be used ({reasons})")
        self.centre_ = self.spread_ = None
        if self.scale == "standard":
            values = self._numbers(frame)
            names = self.get_feature_names_out().tolist()
            choices: Any = {"impute": None, "scale": self.scale, "encoding": self.columns_}
            ready = Preparation.fit(values, names, **choices)
            self.centre_, self.spread_ = ready.centre, ready.spread
        return self

    def transform(self, X: Any) -> np.ndarray:
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
        values = self._numbers(self._frame(X, fit=False))
        if self.scale == "none":
            return values
        names = tuple(self.get_feature_names_out())
        return Preparation(names, self.scale, self.centre_, self.spread_).apply(values)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
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
        return np.array(column_names(self.columns_), dtype=object)

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
            names = [plan["name"] for plan in used(self.columns_)]
            if absent := [name for name in names if name not in frame.columns]:
                listed = ", ".join(map(repr, absent[:5])) + " and more" * (len(absent) > 5)
                word = "column" if len(absent) == 1 else "columns"
                raise InputError("X", f"lacks the {word} {listed}, which the fit had")
        return frame

    def _numbers(self, frame: Any) -> np.ndarray:
        values, _ = encode(frame, self.columns_)
        if endless := infinite_values(values, column_names(self.columns_)):
            raise InputError("X", f"has {endless}", "replace them")
        return values

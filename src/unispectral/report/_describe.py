"""What sets each cluster apart, as a table; the page shows the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral._compat import optional
from unispectral._errors import InputError
from unispectral.report._clusters import contrasts

__all__ = ["as_numbers", "describe"]


def describe(model: Any, X: Any, *, n_features: int | None = None) -> Any:
    """Tell in which features each cluster differs from the rest, clearest first.

    Parameters
    ----------
    model : fitted clusterer, Pipeline, or array of labels
        Whose clusters are described.
    X : data frame, array, sparse matrix, or dict of these (views)
        The samples in the units in which they shall be described, in the order of the fit. Text
        columns are encoded as :class:`unispectral.tables.TablePreparer` does; the mean of a
        category is its share. A missing value counts nowhere.
    n_features : int, default=None
        How many features of each cluster; None is all.

    Returns
    -------
    pandas.DataFrame
        A row for each cluster and feature: ``cluster``, ``size``, ``feature``, the ``mean`` of
        its members, the ``mean_elsewhere`` and their ``difference`` in standard deviations
        within the two groups. The largest differences of a cluster come first.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.cluster import KMeans
    >>> X = pd.DataFrame({"height": [1.0, 1.2, 3.0, 3.3], "age": [5, 6, 5, 6]})
    >>> describe(KMeans(2, n_init=1, random_state=0).fit(X[["height"]]), X, n_features=1)
       cluster  size feature  mean  mean_elsewhere  difference
    0        0     2  height  3.15            1.10   16.081523
    1        1     2  height  1.10            3.15  -16.081523
    """
    pandas = optional("pandas", extra="io")
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    labels = np.asarray(getattr(last, "labels_", model if isinstance(model, list) else last))
    if labels.ndim != 1 or not len(labels):
        raise InputError("model", "has no labels_", "fit it first, or give labels in its place")
    clusters, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    values, names = as_numbers(X, len(labels))
    found = contrasts(values, codes)
    parts = []
    for k, cluster in enumerate(clusters.tolist()):
        order = np.argsort(-np.abs(found.effect[k]), kind="stable")[:n_features]
        part = {"cluster": cluster, "size": int(sizes[k]), "feature": [names[j] for j in order]}
        part |= {"mean": found.inside[k, order], "mean_elsewhere": found.outside[k, order]}
        parts.append(pandas.DataFrame(part | {"difference": found.effect[k, order]}))
    return pandas.concat(parts, ignore_index=True)


def as_numbers(X: Any, n: int, names: Any = None) -> tuple[Any, list[str]]:
    """Samples of any kind as a float table, NaN where missing, and the names of its columns.

    Examples
    --------
    >>> as_numbers({"a": [[1.0]], "b": [[2.0, 3.0]]}, 1)
    (array([[1., 2., 3.]]), ['a: column 0', 'b: column 0', 'b: column 1'])
    """
    if isinstance(X, Mapping):
        parts = {str(view): as_numbers(part, n) for view, part in X.items()}
        listed = [f"{view}: {name}" for view, (_, own) in parts.items() for name in own]
        tables = [values for values, _ in parts.values()]
        if any(map(sp.issparse, tables)):
            return sp.hstack([sp.csr_array(table) for table in tables], format="csr"), listed
        return np.hstack(tables), listed
    names = getattr(X, "columns", None) if names is None else names
    try:
        values = sp.csr_array(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        from unispectral.tables import TablePreparer

        preparer = TablePreparer(impute=None, scale="none")
        values, names = np.asarray(preparer.fit_transform(X)), preparer.get_feature_names_out()
    if values.ndim != 2 or values.shape[0] != n:
        problem = f"has the shape {values.shape}, but there are labels for {n} samples"
        raise InputError("X", problem)
    if names is None or len(names) != values.shape[1]:
        names = [f"column {j}" for j in range(values.shape[1])]
    return values, [str(name) for name in names]

"""The label-free model: views and geometries, the learned graph, labels, number of clusters.

:class:`unispectral.UnifiedSpectralClustering` is its estimator. Here is the functional core, for
studies that switch single parts of it off.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from unispectral.labelfree._recipe import Recipe

__all__ = ["Recipe", "cluster"]


def cluster(
    X: object,
    recipe: Recipe,
    *,
    kernels: object = "linear",
    views: Any = None,
    scaling: str = "auto",
    n_jobs: int | None = None,
    random_state: object = 0,
    verbose: object = 0,
) -> Any:
    """Run the label-free model by a recipe.

    Parameters
    ----------
    X : as :class:`unispectral.UnifiedSpectralClustering` takes it
    recipe : Recipe
        Also of departures that the estimator has no parameter for.
    kernels, views, scaling, n_jobs, random_state, verbose : see the estimator

    Returns
    -------
    Solution
        With ``labels``, the graph ``Z``, the embedding ``P`` and the ``reason`` for stopping.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> recipe = Recipe(n_clusters=3, laplacian="unnormalized")
    >>> cluster(load_iris().data, recipe).labels.shape
    (150,)
    """
    from sklearn.base import BaseEstimator

    from unispectral._base import kernel_specs
    from unispectral._inputs import read
    from unispectral._run import Run
    from unispectral.labelfree._fit import fit
    from unispectral.labelfree._scaling import scaling_of

    run = Run.of(n_jobs, random_state, verbose)
    samples = read(
        BaseEstimator(),
        X,
        kernel_specs(kernels, "kernels"),
        views=views,
        scaling=partial(scaling_of, scaling=scaling),
    )
    with run.limit_threads() as run:
        return fit(samples, recipe, run).solution

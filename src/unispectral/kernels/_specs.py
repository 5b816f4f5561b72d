"""What a kernel is, before it meets data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

from unispectral._errors import InputError, InputTypeError
from unispectral.kernels._features import Features, Products

#: A bound kernel: entries from products. Plain functions, so that fitted models can be pickled.
Evaluate: TypeAlias = Callable[[Products], np.ndarray]

#: The relative widths of the paper's seven Gaussians.
PAPER_WIDTHS = (0.01, 0.05, 0.1, 1.0, 10.0, 50.0, 100.0)


@dataclass(frozen=True)
class Abilities:
    """What a kernel promises of its values; one that declares nothing promises nothing.

    A search by an index, or a table moved to the origin, rests on such a promise. Without it the
    kernel is evaluated for all pairs, which is always right.

    Attributes
    ----------
    distances : {"table", "monotone"} or None
        Its squared distances k(x,x) + k(y,y) − 2k(x,y) are those of the table, or grow with them.
    search : {"euclidean", "cosine"} or None
        By which metric the samples with the largest k(x,y) / √k(y,y) are the nearest of x.
    offset, offset_unit : float and {"none", "mean"}
        For ``"cosine"``: the square of a constant feature that is added to the samples first, as
        it is or in units of their mean squared norm.
    movable : bool
        Whether its values stay when the table is moved and scaled.

    Examples
    --------
    >>> Gaussian(0.1).abilities.distances, Polynomial(2, offset=1.0).abilities.search
    ('monotone', 'cosine')
    """

    distances: str | None = None
    search: str | None = None
    offset: float = 0.0
    offset_unit: str = "none"
    movable: bool = False


@runtime_checkable
class Kernel(Protocol):
    """A kernel before it meets data: it has a name and can bind itself to a table.

    It may declare its :class:`Abilities` as an attribute ``abilities``. ``bind`` returns a
    function of :class:`Products` (kernels made of dot products and distances),
    or ``None`` when the kernel needs the features themselves (:class:`Metric`).
    """

    @property
    def name(self) -> str: ...

    def bind(self, features: Features) -> Evaluate | None: ...


@dataclass(frozen=True)
class Linear:
    """The dot product."""

    name = "linear"
    abilities = Abilities(distances="table", search="cosine")

    def bind(self, features: Features) -> Evaluate:
        return dot


@dataclass(frozen=True)
class Polynomial:
    """The polynomial kernel ``(offset + x·y / s)^degree``.

    Parameters
    ----------
    degree : int
        The power.
    offset : float
        Added to the dot product; the paper uses 0 and 1.
    scale : {"none", "mean"}
        ``s`` is 1, or the mean squared norm of the samples. The latter makes a kernel with an
        offset independent of the unit in which the features are measured.

    Examples
    --------
    >>> Polynomial(4, offset=1.0).name
    'polyplus_4'
    """

    degree: int = 2
    offset: float = 0.0
    scale: str = "none"

    def __post_init__(self) -> None:
        if not (isinstance(self.degree, (int, np.integer)) and self.degree >= 1):
            raise InputError("degree", "must be a whole number of at least 1", value=self.degree)
        if not (np.isfinite(self.offset) and self.offset >= 0):
            raise InputError("offset", "must be a finite number of at least 0", value=self.offset)
        if self.scale not in ("none", "mean"):
            raise InputError("scale", "is unknown", "use 'none' or 'mean'", value=self.scale)

    @property
    def name(self) -> str:
        if self.offset:
            stem = "polyplus"
        else:
            stem = "polynomial"
        return f"{stem}_{self.degree}" + ("_mean" if self.scale == "mean" else "")

    @property
    def abilities(self) -> Abilities:
        return Abilities(search="cosine", offset=float(self.offset), offset_unit=self.scale)

    def bind(self, features: Features) -> Evaluate:
        if self.scale == "mean":
            scale = features.mean_squared_norm()
        else:
            scale = 1.0
        if not scale > 0:
            scale = 1.0
        offset = float(self.offset)
        return partial(_polynomial, scale=scale, offset=offset, degree=int(self.degree))


@dataclass(frozen=True)
class Gaussian:
    """The Gaussian kernel ``exp(-d² / (2 t² s²))`` with a width relative to the data.

    Parameters
    ----------
    width : float
        The relative width ``t``.
    scale : {"max", "median"} or float
        ``s``: the largest distance between two samples (the paper's choice), the median distance,
        or a number in the unit of the features.
    form : {"data", "text"}
        ``"data"`` is the formula above, which the paper's own kernel files hold. ``"text"`` is the
        formula its text prints, ``exp(-d² / (t s²))``.

    Examples
    --------
    >>> Gaussian(0.05).name
    'gaussian_0.05'
    """

    width: float = 1.0
    scale: str | float = "max"
    form: str = "data"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.width) and self.width > 0):
            raise InputError("width", "must be a finite number above 0", value=self.width)
        if self.form not in ("data", "text"):
            raise InputError("form", "is unknown", "use 'data' or 'text'", value=self.form)
        scale = self.scale
        if isinstance(scale, str):
            known = scale in ("max", "median")
        else:
            known = 0 < scale < np.inf
        if not known:
            problem = "must be 'max', 'median' or a finite distance above 0"
            raise InputError("scale", problem, value=self.scale)

    @property
    def name(self) -> str:
        if isinstance(self.scale, str):
            scale = self.scale
        else:
            scale = f"{self.scale:g}"
        parts = f"gaussian_{self.width:g}", "" if scale == "max" else scale
        return "_".join(filter(None, (*parts, "text" * (self.form == "text"))))

    @property
    def abilities(self) -> Abilities:
        relative = isinstance(self.scale, str)
        return Abilities(distances="monotone", search="euclidean", movable=relative)

    def bind(self, features: Features) -> Evaluate:
        scale = self.scale
        if isinstance(scale, str):
            squared = features.squared_scale(scale)
        else:
            squared = float(scale) ** 2
        # All samples equal: every distance is zero and the kernel is constant at any width.
        if not squared > 0:
            squared = 1.0
        if self.form == "data":
            factor = 2.0 * self.width**2
        else:
            factor = self.width
        return partial(_gaussian, rate=-1.0 / (factor * squared))


@dataclass(frozen=True)
class Metric:
    """Any kernel that scikit-learn knows by name, or a function of two samples.

    Parameters
    ----------
    metric : str or callable
        A name of :func:`sklearn.metrics.pairwise.pairwise_kernels`, or ``f(x, y) -> float``.
    params : mapping
        Keyword arguments of the kernel.

    Examples
    --------
    >>> Metric("laplacian", {"gamma": 0.5}).name
    'laplacian'
    """

    metric: str | Callable[..., float] = "rbf"
    params: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.metric, str) and self.metric not in PAIRWISE_KERNEL_FUNCTIONS:
            remedy = f"use {', '.join(sorted(PAIRWISE_KERNEL_FUNCTIONS))}"
            problem = "is not a kernel of scikit-learn"
            raise InputError("metric", problem, remedy, value=self.metric)

    @property
    def name(self) -> str:
        if isinstance(self.metric, str):
            return self.metric
        return getattr(self.metric, "__name__", type(self.metric).__name__)

    def bind(self, features: Features) -> None:
        return None


def paper_kernels(variant: str = "data") -> tuple[Kernel, ...]:
    """The paper's twelve kernels, in the order of its trace: Gaussians, linear, polynomials.

    Parameters
    ----------
    variant : {"data", "text"}
        ``"data"``: as the authors' kernel files show them to be; ``"text"``: with the Gaussian
        that the paper's text prints.

    Examples
    --------
    >>> [kernel.name for kernel in paper_kernels()][6:]
    ['gaussian_100', 'linear', 'polynomial_2', 'polynomial_4', 'polyplus_2', 'polyplus_4']
    """
    if variant not in ("data", "text"):
        raise InputError("variant", "is unknown", "use 'data' or 'text'", value=variant)
    return (
        *(Gaussian(width, form=variant) for width in PAPER_WIDTHS),
        Linear(),
        *(Polynomial(degree, offset) for offset in (0.0, 1.0) for degree in (2, 4)),
    )


_NAMED: dict[str, Callable[[], Kernel]] = {
    "gaussian": lambda: Gaussian(0.5, scale="median"),
    "linear": Linear,
    "polynomial": lambda: Polynomial(2, offset=1.0, scale="mean"),
    **{kernel.name: (lambda kernel=kernel: kernel) for kernel in paper_kernels()},  # type: ignore[misc]
}


def as_kernel(kernel: str | Callable[..., float] | Kernel, argument: str = "kernel") -> Kernel:
    """Turn a name, a function or a kernel object into a kernel object.

    Examples
    --------
    >>> as_kernel("gaussian_0.05")
    Gaussian(width=0.05, scale='max', form='data')
    """
    if isinstance(kernel, str):
        if kernel in _NAMED:
            return _NAMED[kernel]()
        if kernel in PAIRWISE_KERNEL_FUNCTIONS:
            return Metric(kernel)
        remedy = (
            "use 'gaussian', 'linear', 'polynomial', a name of the paper's twelve such as "
            "'gaussian_0.1', a scikit-learn kernel name such as 'laplacian', a kernel object, a "
            "function of two samples, 'precomputed', or, for UnifiedSpectralClustering, 'graph'"
        )
        if kernel == "graph":
            problem = "is no kernel: it takes X for a graph, and stands alone or for one view"
            remedy = "use UnifiedSpectralClustering(kernels='graph'), or kernels={'ties': 'graph'}"
            raise InputError(argument, problem, remedy, value=kernel)
        raise InputError(argument, "is not a known kernel", remedy, value=kernel)
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return Metric(kernel)
    problem = "must be a kernel name, a kernel object or a function of two samples, not "
    raise InputTypeError(argument, problem + type(kernel).__name__, value=kernel)


def as_kernels(kernels: str | Iterable[Any], argument: str = "kernels") -> tuple[Kernel, ...]:
    """Turn ``"paper"``, ``"paper-text"``, one kernel or a list of kernels into kernel objects.

    Examples
    --------
    >>> len(as_kernels("paper"))
    12
    """
    if isinstance(kernels, str) and kernels in ("paper", "paper-text"):
        return paper_kernels("text" if kernels == "paper-text" else "data")
    if isinstance(kernels, (str, Kernel)) or callable(kernels):
        return (as_kernel(kernels, argument),)
    if not isinstance(kernels, Iterable):
        problem = f"must be a kernel or a list of kernels, not {type(kernels).__name__}"
        raise InputTypeError(argument, problem, value=kernels)
    listed = tuple(as_kernel(kernel, argument) for kernel in kernels)
    if not listed:
        raise InputError(argument, "is empty", "give at least one kernel")
    return listed


def dot(products: Products) -> np.ndarray:
    return products.dots.copy()


def _polynomial(products: Products, scale: float, offset: float, degree: int) -> np.ndarray:
    values = products.dots / products.dots.dtype.type(scale)
    if offset:
        values += values.dtype.type(offset)
    return _integer_power(values, degree)


def _gaussian(products: Products, rate: float) -> np.ndarray:
    values = products.distances * products.dots.dtype.type(rate)
    return np.exp(values, out=values)


def _integer_power(values: np.ndarray, degree: int) -> np.ndarray:
    """Raise in place by repeated squaring: several times faster than ``np.power``."""
    if degree == 1:
        return values
    if degree % 2 == 0:
        np.multiply(values, values, out=values)
        return _integer_power(values, degree // 2)
    base = values.copy()
    return np.multiply(_integer_power(values, degree - 1), base, out=values)

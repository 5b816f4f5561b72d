"""The one place that names what may change under us: optional packages, young sklearn API."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

__all__ = ["HasMethods", "Interval", "StrOptions", "as_generator", "fit_context", "optional"]


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Callable], Callable]:
    """scikit-learn's context of a fit, in which an interrupt of compiled code stays one.

    A signal may arrive while a compiled function hands over its result. The interpreter then
    reports an error of its own, which has the interrupt as its cause.
    """
    context = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)

    def decorate(fit: Callable) -> Callable:
        checked = context(fit)

        @functools.wraps(checked)
        def run(*args: Any, **kwargs: Any) -> Any:
            try:
                return checked(*args, **kwargs)
            except SystemError as error:
                if isinstance(error.__cause__, KeyboardInterrupt):
                    raise KeyboardInterrupt from None
                raise

        return run

    return decorate


def optional(module: str, *, extra: str) -> ModuleType:
    """Import an optional module, or say which extra brings it.

    Examples
    --------
    >>> optional("math", extra="none").sqrt(4.0)
    2.0
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"This needs the package {package!r}, which is not installed; "
            f"install it with: pip install 'unispectral[{extra}]'."
        ) from error


def as_generator(
    random_state: int | np.random.RandomState | np.random.Generator | None,
) -> np.random.Generator:
    """Turn scikit-learn's ``random_state`` into a NumPy Generator.

    Examples
    --------
    >>> int(as_generator(0).integers(10)) == int(as_generator(0).integers(10))
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, (int, np.integer)):
        check_random_state(random_state)  # scikit-learn's own sentence for a seed out of range
        return np.random.default_rng(int(random_state))
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))

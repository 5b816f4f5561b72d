"""The one place that names what may change under us: optional packages, young sklearn API."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, metadata
from numbers import Integral
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import _param_validation, _safe_indexing, check_random_state
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _num_samples

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin  # for others
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """An estimator without callbacks."""


class ManualLinkMixin:
    """In a notebook, the representation of an estimator links to its page of the manual.

    The address is that of the installed package; without one there is no link.
    """

    _doc_link_module = "unispectral"

    @property
    def _doc_link_template(self) -> str:
        address = manual_address()
        return address and address + "generated/unispectral.{estimator_name}.html"


@functools.cache
def manual_address() -> str:
    """Where the manual is, as the metadata of the package say; empty where they do not."""
    try:
        listed = metadata("unispectral").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    known = dict(line.split(", ", 1) for line in listed)
    return str(known.get("Documentation", ""))


check_constraints = _param_validation.validate_parameter_constraints
#: The number of rows of an array, a frame, a sparse matrix or a list.
count_samples = _num_samples
#: Some rows of one of these, or with ``axis=1`` some columns.
take_samples = _safe_indexing
Fit = TypeVar("Fit", bound=Callable[..., Any])
#: Steps of one stage of a fit that callbacks are told of; more are told in shares.
_MOST_STEPS = 1000


class Interval(_param_validation.Interval):
    """scikit-learn's constraint of a number, said in words; True and False are none."""

    def is_satisfied_by(self, val: object) -> bool:
        return not isinstance(val, (bool, np.bool_)) and super().is_satisfied_by(val)

    def __str__(self) -> str:
        if self.closed in ("left", "both"):
            least = "of at least"
        else:
            least = "above"
        if self.closed in ("right", "both"):
            most = "of at most"
        else:
            most = "below"
        ends = ((least, self.left), (most, self.right))
        bounds = " and ".join(f"{word} {end}" for word, end in ends if end is not None)
        if self.type is Integral:
            kind = "a whole number"
        else:
            kind = "a number"
        return f"{kind} {bounds}".rstrip()


class StrOptions(_param_validation.StrOptions):
    """scikit-learn's constraint of a string, in one order and without brackets."""

    def __str__(self) -> str:
        *others, last = map(repr, sorted(self.options))
        if others:
            return f"{', '.join(others)} or {last}"
        return last


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Fit], Fit]:
    """scikit-learn's context of a fit, in which an interrupt of compiled code stays one.

    A signal may arrive while a compiled function hands over its result. The interpreter then
    reports an error of its own, or several, of which the interrupt is the first cause.
    """
    context = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)

    def decorate(fit: Fit) -> Fit:
        checked = context(fit)

        @functools.wraps(checked)
        def run(*args: Any, **kwargs: Any) -> Any:
            try:
                return checked(*args, **kwargs)
            except SystemError as error:
                cause = error.__cause__
                while isinstance(cause, SystemError):
                    cause = cause.__cause__
                if isinstance(cause, KeyboardInterrupt):
                    raise KeyboardInterrupt from None
                raise

        return cast(Fit, run)

    return decorate


class FitTasks:
    """The stages of a fit as tasks of scikit-learn's callbacks.

    Callbacks were given to the estimator by ``set_callbacks``, or to the pipeline in which it is.
    """

    def __init__(self, estimator: BaseEstimator, X: object) -> None:
        self.told = {"estimator": estimator, "X": X}
        self.fit = estimator._init_callback_context(max_subtasks=None)
        self.fit.call_on_fit_task_begin(**self.told)
        self.stage: Any = None
        self.steps = 0

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Say that ``done`` of ``total`` steps of a stage are behind us."""
        most = min(total or 0, _MOST_STEPS)
        if self.stage is None or self.stage.task_name != stage:
            self._end_stage()
            self.stage = self.fit.subcontext(task_name=stage, max_subtasks=most)
            self.stage.call_on_fit_task_begin(**self.told)
        if total:
            reached = done * self.stage.max_subtasks // total
        else:
            reached = 0
        for _ in range(self.steps, reached):
            step = self.stage.subcontext(task_name="step")
            step.call_on_fit_task_begin(**self.told)
            step.call_on_fit_task_end(**self.told)
        self.steps = max(self.steps, reached)

    def close(self) -> None:
        """The fit is done."""
        self._end_stage()
        self.fit.call_on_fit_task_end(**self.told)

    def _end_stage(self) -> None:
        if self.stage is not None:
            self.stage.call_on_fit_task_end(**self.told)
        self.stage = None
        self.steps = 0


def fit_tasks(estimator: object, X: object) -> FitTasks | None:
    """What tells callbacks of a fit; None where there are none, be it of a pipeline around it."""
    if hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx"):
        return FitTasks(estimator, X)
    return None


def check_parameters(estimator: BaseEstimator) -> None:
    """Raise an error where a parameter is none that its estimator accepts."""
    estimator._validate_params()


def output_setting(estimator: object) -> str | None:
    """What ``set_output`` was called with for ``transform``; None where it was not called."""
    return getattr(estimator, "_sklearn_output_config", {}).get("transform")


def output_container(estimator: object) -> str:
    """What ``set_output`` asks ``transform`` for: ``"default"``, ``"pandas"`` or ``"polars"``."""
    return _get_output_config("transform", estimator)["dense"]


def optional(module: str, *, extra: str) -> ModuleType:
    """Import an optional module, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"This needs the package {package!r}, which is not installed; "
            f"install it with: pip install 'unispectral[{extra}]'."
        ) from error


def njit(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Numba's decorator, also where compiled code cannot be kept for the next process.

    Numba raises at the definition of a function if neither the installation, nor the user's cache
    folder, nor ``NUMBA_CACHE_DIR`` can be written. The function is compiled in every process then;
    a shared temporary folder would be no place for code.
    """
    import numba

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            return numba.njit(**options)(function)
        except RuntimeError:
            return numba.njit(**{**options, "cache": False})(function)

    return decorate


def as_generator(
    random_state: int | np.random.RandomState | np.random.Generator | None,
) -> np.random.Generator:
    """Turn scikit-learn's ``random_state`` into a NumPy Generator."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if isinstance(random_state, int) and 0 <= random_state < 2**32:
        return np.random.default_rng(int(random_state))
    state = check_random_state(random_state)  # scikit-learn's own sentence for a bad seed
    if isinstance(random_state, (int, np.integer)):
        return np.random.default_rng(int(random_state))
    return np.random.default_rng(state.randint(2**31 - 1))

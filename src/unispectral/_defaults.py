"""What ``"auto"`` means, for each model: one table, so that nobody has to hunt for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

__all__ = ["ADAPTIVE", "PAPER", "Settings", "resolve"]


@dataclass(frozen=True)
class Settings:
    """Every number of a fit, with nothing left to guess."""

    alpha: float
    beta: float
    gamma: float
    ridge: float
    n_neighbors: int
    whiten: tuple[tuple[float, float], ...]
    temperature: float
    normalize: Any
    solver: str
    max_iter: int
    tol: float


#: The label-free model. Scale-free: the same numbers for any data.
ADAPTIVE = Settings(
    alpha=1e-3,
    beta=1.0,
    gamma=0.0,
    ridge=1.0,
    n_neighbors=8,
    whiten=((2.0, 0.3), (2.0, 3.0)),
    temperature=0.05,
    normalize="none",
    solver="local",
    max_iter=4,
    tol=1e-4,
)

#: The paper's objective, to the letter.
PAPER = Settings(
    alpha=0.1,
    beta=0.1,
    gamma=0.1,
    ridge=0.0,
    n_neighbors=30,
    whiten=(),
    temperature=0.0,
    normalize="cosine",
    solver="exact",
    max_iter=50,
    tol=1e-5,
)

#: One kernel on one table leaves room for more whitened geometries in the model of many kernels.
ONE_KERNEL = replace(
    ADAPTIVE, whiten=tuple((width, shrink) for width in (1.0, 2.0, 4.0) for shrink in (0.3, 3.0))
)

_ALM = {"max_iter": 200, "tol": 1e-3}


def resolve(estimator: Any) -> Settings:
    """Replace every ``"auto"`` of an estimator by its number.

    Examples
    --------
    >>> from unispectral import SCSK
    >>> resolve(SCSK(alpha=0.5)).alpha, resolve(SCSK.paper()).solver
    (0.5, 'exact')
    """
    table = PAPER if estimator.model == "paper" else ADAPTIVE
    if estimator.model == "adaptive" and _one_kernel(getattr(estimator, "kernels", None)):
        table = ONE_KERNEL
    found: dict[str, Any] = {}
    for name in Settings.__dataclass_fields__:
        value = getattr(estimator, name, "auto")
        auto = isinstance(value, str) and value == "auto"
        found[name] = getattr(table, name) if auto else value
        if auto and estimator.solver == "alm" and name in _ALM:
            found[name] = _ALM[name]
    _refuse_contradictions(estimator, found)
    found["whiten"] = _pairs(found["whiten"])
    return Settings(**found)


def _one_kernel(kernels: Any) -> bool:
    """Whether an estimator of many kernels has been given one kernel only."""
    return isinstance(kernels, str) and not kernels.startswith(("paper", "precomputed"))


def _pairs(whiten: Any) -> tuple[tuple[float, float], ...]:
    """Pairs (width, strength), all above zero."""
    try:
        pairs = tuple((float(width), float(strength)) for width, strength in whiten or ())
    except (TypeError, ValueError):
        raise ValueError(
            f"whiten={whiten!r} must be 'auto', None or pairs (width, strength) such as [(2, 3)]."
        ) from None
    if any(not (width > 0 and strength > 0) for width, strength in pairs):
        raise ValueError(f"whiten={whiten!r} holds numbers that are not above 0.")
    return pairs


def _refuse_contradictions(estimator: Any, found: dict[str, Any]) -> None:
    if estimator.model == "adaptive" and found["solver"] != "local":
        raise ValueError(
            f"solver={found['solver']!r} minimises the paper's objective; use it with "
            "model='paper', or leave solver='auto'."
        )
    if estimator.model == "paper" and found["whiten"]:
        raise ValueError(
            f"whiten={found['whiten']!r} is not part of the paper's objective; use it with "
            "model='adaptive', or leave whiten='auto'."
        )

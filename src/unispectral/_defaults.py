"""What ``"auto"`` means, for each model: one table, so that nobody has to hunt for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

__all__ = ["ADAPTIVE", "PAPER", "Settings", "neighbours_for", "resolve"]

#: Fewer candidates than this make no graph that holds together.
LEAST_NEIGHBOURS = 3


@dataclass(frozen=True)
class Settings:
    """Every number of a fit, with nothing left to guess."""

    alpha: float
    beta: float
    gamma: float
    ridge: float
    n_neighbors: int
    whiten: tuple[tuple[float, float], ...]
    sharpness: float
    min_evidence: float
    scale_codes: bool
    laplacian: str
    unit_rows: bool
    mend: bool
    fuse: bool
    assign_labels: str
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
    sharpness=4.0,
    min_evidence=0.2,
    scale_codes=True,
    laplacian="normalized",
    unit_rows=True,
    mend=True,
    fuse=True,
    assign_labels="best",
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
    sharpness=4.0,
    min_evidence=0.0,
    scale_codes=False,
    laplacian="unnormalized",
    unit_rows=False,
    mend=False,
    fuse=False,
    assign_labels="rotation",
    normalize="cosine",
    solver="exact",
    max_iter=50,
    tol=1e-5,
)

#: One kernel on one table leaves room for more whitened geometries in the model of many kernels.
ONE_KERNEL = replace(
    ADAPTIVE, whiten=tuple((width, shrink) for width in (1.0, 2.0, 4.0) for shrink in (0.3, 3.0))
)

#: What the paper's objective has no place for.
_ADAPTIVE_ONLY = (
    "whiten",
    "sharpness",
    "min_evidence",
    "scale_codes",
    "laplacian",
    "unit_rows",
    "mend",
    "fuse",
    "assign_labels",
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
    found["whiten"] = _pairs(found["whiten"])
    _refuse_contradictions(estimator, found)
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
    if estimator.model != "paper":
        return
    for name in _ADAPTIVE_ONLY:
        if found[name] != getattr(PAPER, name):
            raise ValueError(
                f"{name}={found[name]!r} is not part of the paper's objective; use it with "
                f"model='adaptive', or leave {name}='auto'."
            )


def neighbours_for(settings: Settings, given: Any, n_samples: int, n_clusters: int) -> int:
    """How many candidates a code has: no more than a cluster of mean size has other members.

    Examples
    --------
    >>> neighbours_for(ADAPTIVE, "auto", 200, 40), neighbours_for(ADAPTIVE, "auto", 400, 40)
    (4, 8)
    """
    if not isinstance(given, str):
        return settings.n_neighbors
    return min(settings.n_neighbors, max(LEAST_NEIGHBOURS, n_samples // n_clusters - 1))

"""Mutants that no test can kill, or none should: what they change makes no difference.

By module and by what was changed, as :mod:`torture.mutation` writes it.
"""

from __future__ import annotations

__all__ = ["reason"]

_TIE = "two floating-point numbers are hardly ever equal, and either way is right where they are"
_LIMIT = "a limit or tolerance: a little more or less of it ends at the same result"
_GUARD = "only keeps a zero from being divided by"
_BATCH = "the size of a batch: the same sums in other pieces"
_SQUARE = "the matrix is square"
_DEFAULT = "a default that the callers of the step set themselves"

_REASONS: dict[str, dict[str, str]] = {
    "labels": {"10 → 11": _LIMIT, "100 → 101": _LIMIT},
    "weights": {
        "2 ** 19 → 2 * 19": _BATCH,
        "19 → 20": _BATCH,
        "meetings + np.diff(uses.indptr) → meetings - np.diff(uses.indptr)": _BATCH,
        "1e-15 * max(float(h.max()), np.finfo(np.float64).tiny) → "
        "1e-15 / max(float(h.max()), np.finfo(np.float64).tiny)": _GUARD,
        "meetings + np.diff(uses.indptr) + np.diff(codes.indptr) → "
        "meetings + np.diff(uses.indptr) - np.diff(codes.indptr)": _BATCH,
        "-1 → +1": "any number but the first batch's, which is 0, marks its beginning",
        "1 → 2": "any number but the first batch's, which is 0, marks its beginning",
        "1e-15 → 2e-15": _GUARD,
        "1e-300 → 2e-300": _GUARD,
    },
    "graph.quality": {
        "0 → 1": _SQUARE,
        "1 → 2": "one more cluster without members, which counts nowhere",
    },
    "spectrum": {
        "False → True": "whether numbers that are finite are looked at once more",
        "0 → 1": _SQUARE,
        "1e-10 * values[-1] → 1e-10 / values[-1]": _LIMIT,
        "1e-05 → 2e-05": _LIMIT,
        "tol * scale → tol / scale": _LIMIT,
        "0.5 → 1.0": "the first step of a line search, which corrects it",
        "trial_value > value → trial_value >= value": _TIE,
        "along > 0 → along >= 0": _TIE,
        "1e-300 → 2e-300": _GUARD,
    },
    "solvers._stiefel": {
        "True → False": "whether the result can be changed by hand",
        "1e-08 → 2e-08": _DEFAULT,
        "1000 → 1001": _LIMIT,
        "0.85 → 1.7": _DEFAULT,
        "5 → 6": _LIMIT,
        "0.01 → 0.02": _LIMIT,
        "10 → 11": _LIMIT,
        "curve.gradient_norm < 0.01 * gtol → curve.gradient_norm <= 0.01 * gtol": _TIE,
        "new_value <= level - step * required → new_value < level - step * required": _TIE,
        "gradient_norm < gtol → gradient_norm <= gtol": _TIE,
        "moved < xtol → moved <= xtol": _TIE,
        "fell < ftol → fell <= ftol": _TIE,
        "1.0 → 2.0": "part of a relative change that is compared with a tolerance",
        "abs(value - new_value) / (abs(value) + 1.0) → "
        "abs(value - new_value) * (abs(value) + 1.0)": _LIMIT,
        "Q * np.where(np.diag(R) < 0, -1.0, 1.0) → "
        "Q / np.where(np.diag(R) < 0, -1.0, 1.0)": "to multiply by a sign is to divide by it",
    },
}


def reason(module: str, what: str) -> str:
    """Why a mutant makes no difference; empty where nobody knows."""
    return _REASONS.get(module, {}).get(what, "")

"""Mutants that no test can kill, or none should: what they change makes no difference.

By module and by what was changed, as :mod:`robustness.mutation` writes it.
"""

from __future__ import annotations

__all__ = ["reason"]

_TIE = "two floating-point numbers are hardly ever equal, and either way is right where they are"
_LIMIT = "a limit or tolerance: a little more or less of it ends at the same result"
_GUARD = "only keeps a zero from being divided by"
_BATCH = "the size of a batch: the same sums in other pieces"
_SQUARE = "the matrix is square"
_EITHER = "which of two methods finds the optimum"
_START = "any number but the first batch's, which is 0, marks its beginning"

_REASONS: dict[str, dict[str, str]] = {
    "kernels._loops": {
        "64 → 65 in tile = 64": _BATCH,
        "64 → 65 in map_blocks(work, A.shape[0], 64, run)": _BATCH,
        "0 → 1 in n = out.shape[0]": _SQUARE,
        "1 → 2 in held = -1": "any number below zero says that no sample is spread out",
        "1 → 2 in points = np.empty((k + 1, d))": "one more row, which nobody fills or reads",
        "i + 1 → i - 1": "copies once more what is a copy of it already",
        "256 → 257 in map_blocks(lambda rows: _mirror(out, rows.start, rows.stop), len(out), 256, "
        "run)": _BATCH,
        "wide.shape[0] + rates.shape[0] > 0 → wide.shape[0] + rates.shape[0] >= 0": (
            "distances that no kernel of the sum asks for"
        ),
    },
    "labels": {
        "10 → 11 in n_init: int = 10,": _LIMIT,
        "100 → 101 in max_iter: int = 100,": _LIMIT,
        "1 → 2 in return np.where(total > 0, shares / np.where(total > 0, total, 1), "
        "1.0 / n_clusters)": _GUARD,
    },
    "paper._weights": {
        "2 ** 19 → 2 * 19": _BATCH,
        "19 → 20 in _BATCH_ENTRIES = 2**19": _BATCH,
        "meetings + np.diff(uses.indptr) → meetings - np.diff(uses.indptr)": _BATCH,
        "meetings + np.diff(uses.indptr) + np.diff(codes.indptr) → "
        "meetings + np.diff(uses.indptr) - np.diff(codes.indptr)": _BATCH,
        "1e-15 * max(float(h.max()), np.finfo(np.float64).tiny) → "
        "1e-15 / max(float(h.max()), np.finfo(np.float64).tiny)": _GUARD,
        "1e-15 → 2e-15 in h = np.maximum(h, 1e-15 * max(float(h.max()), "
        "np.finfo(np.float64).tiny))": _GUARD,
        "1e-300 → 2e-300 in return np.maximum(h, 0.0) / np.maximum(coverage, 1e-300)": _GUARD,
        "-1 → +1 in starts = np.flatnonzero(np.diff(number, prepend=-1))": _START,
        "1 → 2 in starts = np.flatnonzero(np.diff(number, prepend=-1))": _START,
    },
    "graph.quality": {
        "0 → 1 in rows = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))": _SQUARE,
        "1 → 2 in count = int(labels.max()) + 1": (
            "one more cluster without members, which counts nowhere"
        ),
        "1 → 2 in found = np.zeros((2, int(labels.max()) + 1))": (
            "one more cluster without members, which counts nowhere"
        ),
        "2 → 3 in found = np.zeros((2, int(labels.max()) + 1))": "one more row that nobody reads",
    },
    "graph._loops": {
        "20 → 21 in if more == 0 or (inner > allowed and turn > 20):": _LIMIT,
        "40 → 41 in _PIVOTED = 40": _EITHER,
        "0.0 → 1.0 in if curvature <= 0.0:": "only prepares the method that finds the optimum",
        "0 → 1 in passes = 0": "a measure of the work, one more",
        "2 → 3 in capacity *= 2": "how much room is made at once",
        "size < wanted → size <= wanted": "one more coordinate that may enter: the same optimum",
        "-tolerance → +tolerance in steepest = -tolerance": (
            "coordinates that change nothing by entering may enter, too"
        ),
        "0 → 1 in if size < 0:  # no closed form": _EITHER,
        "slope < -_EXACTLY * tolerance * own[i] → slope <= -_EXACTLY * tolerance * own[i]": _TIE,
        "-_EXACTLY * tolerance * own[i] → -_EXACTLY * tolerance / own[i]": _EITHER,
    },
    "graph._dense": {
        "64 → 65 in BLOCK = 64": _BATCH,
        "0.1 → 0.2 in alpha: float | np.ndarray = 0.1,": "a default that nobody relies on",
        "1e-06 → 2e-06 in tol: float = 1e-6,": _LIMIT,
        "16 → 17 in FIRST = 16": _BATCH,
        "0.0 → 1.0 in beta: float = 0.0,": "it has no part without an embedding",
        "0.0 → 1.0 in beta, embedding = 0.0, np.empty((n, 0))": (
            "the distances in an embedding without columns are zero"
        ),
        "0 → 1 in beta, embedding = 0.0, np.empty((n, 0))": "any distances, times zero",
        "0 → 1 in n = K.shape[0]": _SQUARE,
        "0 → 1 in nonnegative = bool(K.min() >= 0)": "only ends a search sooner",
        "K.min() >= 0 → K.min() > 0": "only ends a search sooner",
    },
    "spectrum._eigen": {
        "1.0 → 2.0 in roots = 1.0 / np.sqrt(np.where(degrees > 0, degrees, 1.0))": _GUARD,
    },
    "paper._embedding": {
        "2.0 * float(degrees.max()) + float(np.linalg.norm(target)) → "
        "2.0 * float(degrees.max()) - float(np.linalg.norm(target))": _LIMIT,
        "0.001 → 0.002 in _LEFT = 1e-3  # what may be left to gain then, relative to the "
        "problem's size": _LIMIT,
        "300 → 301 in _COARSE_STEPS = 300  # among the smallest eigenvectors, where a step is "
        "cheap": _LIMIT,
        "60 → 61 in _STEPS = 60  # among all of them, unless much is left to gain": _LIMIT,
        "0.0001 → 0.0002 in _TOL = 1e-4  # gradient at which the step ends, relative to the "
        "graph": _LIMIT,
        "n > max(_FEW, 2 * c) → n >= max(_FEW, 2 * c)": "either way ends at the same embedding",
        "2.0 → 4.0 in size = 2.0 * float(degrees.max()) + float(np.linalg.norm(target))": _LIMIT,
        "_LEFT * size → _LEFT / size": _LIMIT,
        "2 → 3 in if 2 * few <= n:": "either way ends at the same embedding",
        "2 → 3 in pulled, few = V.T @ target, c + c // 2": "either way ends at the same embedding",
        "2 * few <= n → 2 * few < n": "either way ends at the same embedding",
        "np.linalg.norm(slope - P @ (0.5 * (inner + inner.T))) <= tol → "
        "np.linalg.norm(slope - P @ (0.5 * (inner + inner.T))) < tol": _TIE,
        'False → True in L, subset_by_index=(0, count - 1), driver="evr", overwrite_a=True, '
        "check_finite=False": "whether numbers that are finite are looked at once more",
    },
    "spectrum._stiefel": {
        "4000 → 4001 in _MANY = 4_000": _BATCH,
        "1e-08 → 2e-08 in _DEPENDENT = 1e-8": _LIMIT,
        "1e-10 → 2e-10 in _OUTSIDE = 1e-10": _LIMIT,
        "0 → 1 in Lv, change = _times(L, v, run), np.empty((len(P), 0))": (
            "one more direction to begin with"
        ),
        "values[0] > 1e-06 * values[-1] → values[0] >= 1e-06 * values[-1]": _TIE,
        "kept < 0.25 → kept <= 0.25": _TIE,
        "longer < radius ** 2 → longer <= radius ** 2": _TIE,
        "Lv - bend * v → Lv + bend * v": "the part along v is taken out of it afterwards",
        "0.25 * np.sqrt(c) → 0.25 / np.sqrt(c)": "where the radius starts, which adapts itself",
        "1.0 → 2.0 in scaling = 1.0 / np.maximum(np.abs(curvature), flat)": (
            "conjugate gradients do not see a constant factor of their scaling"
        ),
        "False → True in return scipy.linalg.solve_triangular(root, Y.T, lower=True, "
        "check_finite=False).T": "whether numbers that are finite are looked at once more",
        "False → True in root = scipy.linalg.cholesky(Y.T @ Y, lower=True, check_finite=False)": (
            "whether numbers that are finite are looked at once more"
        ),
        "0 → 1 in return float(abs(L).sum(axis=1).max()) if L.shape[0] else 0.0": _SQUARE,
        "1e-06 * values[-1] → 1e-06 / values[-1]": _LIMIT,
        "1e-05 → 2e-05 in tol: float = 1e-5,": _LIMIT,
        "tol * scale → tol / scale": _LIMIT,
        "along > 0 → along >= 0": _TIE,
        "False → True in values, U = scipy.linalg.eigh(reduced, lower=False, "
        "check_finite=False)": ("whether numbers that are finite are looked at once more"),
        "0 → 1 in own = values > _DEPENDENT * max(values[-1], 1.0) if len(values) else "
        "values > 0": ("compares no number at all"),
        "2.0 → 4.0 in radius = min(2.0 * radius, np.sqrt(c))": (
            "how fast the radius grows, which adapts itself"
        ),
        "_ROUNDING * max(abs(value), spread) → _ROUNDING / max(abs(value), spread)": _LIMIT,
        "taken < max_steps → taken <= max_steps": _LIMIT,
        "1e-300 → 2e-300 in else along / max(float(np.vdot(change, change)), 1e-300)": _GUARD,
    },
}


def reason(module: str, what: str) -> str:
    """Why a mutant makes no difference; empty where nobody knows."""
    return _REASONS.get(module, {}).get(what, "")

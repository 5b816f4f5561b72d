"""Mutants that no test can kill, or none should: what they change makes no difference.

By module and by what was changed, as :mod:`robustness.mutation` writes it. A reason whose mutant
is gone fails a test, so that who changes an expression looks at its reason anew.
"""

# ruff: noqa: E501 (the expressions are as long as they are)

from __future__ import annotations

_TIE = "two floating-point numbers are hardly ever equal, and either way is right where they are"
_LIMIT = "a limit or tolerance: a little more or less of it ends at the same result"
_GUARD = "only keeps a zero from being divided by"
_BATCH = "the size of a batch: the same sums in other pieces"
_SQUARE = "the matrix is square"
_EITHER = "which of two methods finds the optimum"
_START = "any number but the first batch's, which is 0, marks its beginning"

_REASONS: dict[str, dict[str, str]] = {
    "kernels._loops": {
        "_mirror: 64 → 65 in tile = 64": _BATCH,
        "sparse_dots: 64 → 65 in map_blocks(work, A.shape[0], 64, run)": _BATCH,
        "_mirror: 0 → 1 in out.shape[0]": _SQUARE,
        "sparse_pairs: 1 → 2 in held = -1": "any number below zero says that no sample is spread out",
        "gaussian_neighbourhoods: 1 → 2 in k + 1": "one more row, which nobody fills or reads",
        "_mirror: i + 1 → i - 1": "copies once more what is a copy of it already",
        "mirror: 256 → 257 in map_blocks(lambda rows: _mirror(out, rows.start, rows.stop), len(out), 256, run)": _BATCH,
        "weighted_sum: wide.shape[0] + rates.shape[0] > 0 → wide.shape[0] + rates.shape[0] >= 0": "distances that no kernel of the sum asks for",
    },
    "labels": {
        "rotate: 10 → 11 in n_init=10": _LIMIT,
        "rotate: 100 → 101 in max_iter=100": _LIMIT,
        "label_shares: 1 → 2 in np.where(total > 0, total, 1)": _GUARD,
    },
    "paper._weights": {
        "2 ** 19 → 2 * 19": _BATCH,
        "19 → 20 in 2 ** 19": _BATCH,
        "residuals: meetings + np.diff(uses.indptr) → meetings - np.diff(uses.indptr)": _BATCH,
        "residuals: meetings + np.diff(uses.indptr) + np.diff(codes.indptr) → meetings + np.diff(uses.indptr) - np.diff(codes.indptr)": _BATCH,
        "kernel_weights: 1e-15 * max(float(h.max()), np.finfo(np.float64).tiny) → 1e-15 / max(float(h.max()), np.finfo(np.float64).tiny)": _GUARD,
        "kernel_weights: 1e-15 → 2e-15 in 1e-15 * max(float(h.max()), np.finfo(np.float64).tiny)": _GUARD,
        "_batches: -1 → +1 in np.diff(number, prepend=-1)": _START,
        "_batches: 1 → 2 in np.diff(number, prepend=-1)": _START,
    },
    "graph.quality": {
        "_inside_and_volumes: 1 → 2 in int(labels.max()) + 1": "one more cluster without members, which counts nowhere",
        "_inside_and_volumes: 2 → 3 in (2, int(labels.max()) + 1)": "one more row that nobody reads",
    },
    "graph._loops": {
        "_grow: 20 → 21 in turn > 20": _LIMIT,
        "40 → 41 in _PIVOTED = 40": _EITHER,
        "_descend: 0.0 → 1.0 in curvature <= 0.0": "only prepares the method that finds the optimum",
        "solve_columns: 0 → 1 in passes = 0": "a measure of the work, one more",
        "solve_columns: 2 → 3 in capacity *= 2": "how much room is made at once",
        "_largest: size < wanted → size <= wanted": "one more coordinate that may enter: the same optimum",
        "_neediest: -tolerance → +tolerance in steepest = -tolerance": "coordinates that change nothing by entering may enter, too",
        "_pivot_blocks: 0 → 1 in size < 0": _EITHER,
        "_pivot_blocks: slope < -_EXACTLY * tolerance * own[i] → slope <= -_EXACTLY * tolerance * own[i]": _TIE,
        "_pivot_blocks: -_EXACTLY * tolerance * own[i] → -_EXACTLY * tolerance / own[i]": _EITHER,
    },
    "graph._dense": {
        "64 → 65 in BLOCK = 64": _BATCH,
        "codes: 0.1 → 0.2 in alpha=0.1": "a default that nobody relies on",
        "codes: 1e-06 → 2e-06 in tol=1e-06": _LIMIT,
        "16 → 17 in FIRST = 16": _BATCH,
        "codes: 0.0 → 1.0 in beta=0.0": "it has no part without an embedding",
        "codes: 0.0 → 1.0 in beta = 0.0": "the distances in an embedding without columns are zero",
        "codes: 0 → 1 in (n, 0)": "any distances, times zero",
        "codes: 0 → 1 in K.shape[0]": _SQUARE,
        "codes: 0 → 1 in K.min() >= 0": "only ends a search sooner",
        "codes: K.min() >= 0 → K.min() > 0": "only ends a search sooner",
    },
    "spectrum._eigen": {
        "laplacian: 1.0 → 2.0 in np.where(degrees > 0, degrees, 1.0)": _GUARD,
    },
    "paper._embedding": {
        "optimal_embedding: 2.0 * float(degrees.max()) + float(np.linalg.norm(target)) → 2.0 * float(degrees.max()) - float(np.linalg.norm(target))": _LIMIT,
        "0.001 → 0.002 in _LEFT = 0.001": _LIMIT,
        "300 → 301 in _COARSE_STEPS = 300": _LIMIT,
        "60 → 61 in _STEPS = 60": _LIMIT,
        "0.0001 → 0.0002 in _TOL = 0.0001": _LIMIT,
        "optimal_embedding: n > max(_FEW, 2 * c) → n >= max(_FEW, 2 * c)": "either way ends at the same embedding",
        "optimal_embedding: 2.0 → 4.0 in 2.0 * float(degrees.max())": _LIMIT,
        "_descent: _LEFT * size → _LEFT / size": _LIMIT,
        "optimal_embedding: 2 → 3 in 2 * few": "either way ends at the same embedding",
        "optimal_embedding: 2 → 3 in c // 2": "either way ends at the same embedding",
        "optimal_embedding: 2 * few <= n → 2 * few < n": "either way ends at the same embedding",
        "optimal_embedding: np.linalg.norm(slope - P @ (0.5 * (inner + inner.T))) <= tol → np.linalg.norm(slope - P @ (0.5 * (inner + inner.T))) < tol": _TIE,
        "_smallest: False → True in linalg.eigh(L, subset_by_index=(0, count - 1), driver='evr', overwrite_a=True, check_finite=False)": "whether numbers that are finite are looked at once more",
    },
    "spectrum._stiefel": {
        "4000 → 4001 in _LEAST_SPARSE = 4000": _BATCH,
        "1e-08 → 2e-08 in _DEPENDENT = 1e-08": _LIMIT,
        "1e-10 → 2e-10 in _OUTSIDE = 1e-10": _LIMIT,
        "_low_beside: 0 → 1 in (len(P), 0)": "one more direction to begin with",
        "polar: values[0] > 1e-06 * values[-1] → values[0] >= 1e-06 * values[-1]": _TIE,
        "diagonal_descent: kept < 0.25 → kept <= 0.25": _TIE,
        "_newton_step: longer < radius ** 2 → longer <= radius ** 2": _TIE,
        "_low_beside: Lv - bend * v → Lv + bend * v": "the part along v is taken out of it afterwards",
        "diagonal_descent: 0.25 * np.sqrt(c) → 0.25 / np.sqrt(c)": "where the radius starts, which adapts itself",
        "_newton_step: 1.0 → 2.0 in 1.0 / np.maximum(np.abs(curvature), flat)": "conjugate gradients do not see a constant factor of their scaling",
        "_orthonormal: False → True in scipy.linalg.solve_triangular(root, Y.T, lower=True, check_finite=False)": "whether numbers that are finite are looked at once more",
        "_orthonormal: False → True in scipy.linalg.cholesky(Y.T @ Y, lower=True, check_finite=False)": "whether numbers that are finite are looked at once more",
        "polar: 1e-06 * values[-1] → 1e-06 / values[-1]": _LIMIT,
        "stiefel_descent: 1e-05 → 2e-05 in tol=1e-05": _LIMIT,
        "stiefel_descent: tol * max(scale, 1e-300) → tol / max(scale, 1e-300)": _LIMIT,
        "_best_within: False → True in scipy.linalg.eigh(reduced, lower=False, check_finite=False)": "whether numbers that are finite are looked at once more",
        "_beside: 0 → 1 in values > 0": "compares no number at all",
        "diagonal_descent: 2.0 → 4.0 in 2.0 * radius": "how fast the radius grows, which adapts itself",
        "diagonal_descent: _ROUNDING * max(abs(value), spread) → _ROUNDING / max(abs(value), spread)": _LIMIT,
        "_newton_step: taken < max_steps → taken <= max_steps": _LIMIT,
        "stiefel_descent: taken < max_steps → taken <= max_steps": _LIMIT,
    },
}


def reason(module: str, what: str) -> str:
    """Why a mutant makes no difference; empty where nobody knows."""
    return _REASONS.get(module, {}).get(what, "")

"""Our own numerical routines against the libraries that could take their place.

``python -m benchmarks.routines`` times, on one thread and in one process, the eigenvectors of
graph Laplacians (our filter and our factorisation, ARPACK and LOBPCG, all to the same residual)
and the product of a Laplacian with a block (against SciPy), and writes docs/results/routines.md.
A routine of our own stays where it is 1.5 times faster, or where the library's would not use
threads or would depend on their number. Labels of more than 10,000 samples are communities of the
graph: no fit asks for eigenvectors of more nodes.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh, lobpcg
from sklearn.datasets import load_digits, make_blobs
from threadpoolctl import threadpool_limits

from unispectral._run import Run
from unispectral.graph.neighbours import nearest
from unispectral.spectrum import laplacian, smallest_eigenvectors
from unispectral.spectrum._direct import factorises_well, shift_invert
from unispectral.spectrum._products import laplacian_step
from unispectral.spectrum._subspace import Part, Subspace, Wanted, filter_subspace

_PAGE = Path(__file__).resolve().parent.parent / "docs" / "results" / "routines.md"
_REPEATS = 3


def _graph(X: np.ndarray, k: int = 8) -> sp.csr_array:
    n = len(X)
    found = nearest(X, k).indices
    W = sp.csr_array((np.ones(n * k), found.ravel(), np.arange(n + 1) * k), shape=(n, n))
    return sp.csr_array((W + W.T) * 0.5)


def _problems() -> Iterator[tuple[str, sp.csr_array, int]]:
    yield "digits, 1,797 nodes", _graph(load_digits().data), 10
    for n in (1_000, 3_000, 10_000):
        turn = np.linspace(0.1, 12.0, n)
        noise = np.random.default_rng(0).normal(scale=0.02, size=(n, 2))
        X = turn[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1) + noise
        yield f"a spiral, {n:,} nodes", _graph(X), 3
        X, _ = make_blobs(n, centers=10, n_features=2, cluster_std=2.0, random_state=0)
        yield f"overlapping blobs in the plane, {n:,} nodes", _graph(X), 10
        X, _ = make_blobs(n, centers=10, n_features=16, cluster_std=4.0, random_state=0)
        yield f"overlapping blobs in 16 dimensions, {n:,} nodes", _graph(X), 10


def _seconds(work: Callable[[], object]) -> float:
    """The least CPU time of some runs, the first apart."""
    found = []
    for _ in range(_REPEATS + 1):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return min(found[1:])


def _eigenvectors(W: sp.csr_array, c: int) -> dict[str, float]:
    L = laplacian(W, normalized=True)
    n = W.shape[0]
    run = Run.of(1)
    guess = np.random.default_rng(0).normal(size=(n, c + 4))
    tol = 2e-4 if n <= 3_000 else 2e-3
    found = smallest_eigenvectors(W, c + 1, tol=tol, run=run)
    residual = tol * float(found.values[c])
    flipped = 2.0 * sp.eye_array(n) - L
    part = Part(W, np.asarray(W.sum(axis=1)).ravel(), normalized=True, run=run)

    def solve(method: Callable[[Part, Wanted], Subspace | None]) -> float:
        wanted = Wanted(c - 1, tol, 60, np.random.default_rng(0))
        return _seconds(lambda: method(part, wanted))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times = {"ours": _seconds(lambda: smallest_eigenvectors(W, c, tol=tol, run=run))}
        if found.n_components == 1:
            times["filter"] = solve(filter_subspace)
        if found.n_components == 1 and factorises_well(W):
            times["factorisation"] = solve(shift_invert)
        # ARPACK's tolerance is relative to the eigenvalue, which is nearly 2 here.
        times["ARPACK"] = _seconds(
            lambda: eigsh(flipped, c, which="LA", tol=residual / 2.0, v0=guess[:, 0])
        )
        times["LOBPCG"] = _seconds(
            lambda: lobpcg(L, guess, largest=False, tol=residual, maxiter=200)
        )
    return times


def _products(W: sp.csr_array) -> dict[str, float]:
    n = W.shape[0]
    X = np.random.default_rng(0).normal(size=(n, 16)).astype(np.float32)
    single = W.astype(np.float32)
    diagonal, out, run = np.ones(n, np.float32), np.empty_like(X), Run.of(1)
    return {
        "ours": _seconds(lambda: laplacian_step(single, diagonal, X, X, out, keep=0.5, run=run)),
        "SciPy": _seconds(lambda: diagonal[:, None] * X - single @ X + np.float32(0.5) * X),
    }


def _row(what: str, where: str, found: dict[str, float]) -> str:
    ours = found["ours"]
    others = "; ".join(
        f"{name} {1e3 * value:.3g} ms ({value / ours:.1f} ×)"
        for name, value in found.items()
        if name != "ours"
    )
    return f"| {what} | {where} | {1e3 * ours:.3g} ms | {others} |"


def main() -> None:
    """Run the race, print it and write the page."""
    rows = ["| routine | problem | ours | others (× ours) |", "|---|---|---|---|"]
    with threadpool_limits(1):
        for where, W, c in _problems():
            rows.append(_row("eigenvectors", where, _eigenvectors(W, c)))
            rows.append(_row("Laplacian × block of 16", where, _products(W)))
            print(*rows[-2:], sep="\n", flush=True)
    head = (
        "# Our own routines against libraries\n\nCPU time of one thread, least of three runs; "
        "`python -m benchmarks.routines`.\n\n"
    )
    _PAGE.write_text(head + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()

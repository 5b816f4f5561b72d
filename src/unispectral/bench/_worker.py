"""The worker process: it reads jobs, fits, and answers; it dies with the process that started it.

Messages are lengths and JSON over the two standard pipes, so nothing is ever unpickled and the
program that starts a study needs no ``if __name__ == "__main__"``.
"""

from __future__ import annotations

import base64
import contextlib
import faulthandler
import json
import os
import signal
import struct
import sys
import threading
import time
import traceback
import warnings
import zlib
from typing import IO, Any

from unispectral.bench._memory import limit_growth, peak_bytes, reset_peak

__all__ = ["decode_labels", "encode_labels", "read_message", "write_message"]

_HEADER = struct.Struct("!I")


def write_message(stream: IO[bytes], message: dict[str, Any]) -> None:
    body = json.dumps(message).encode()
    stream.write(_HEADER.pack(len(body)) + body)
    stream.flush()


def read_message(stream: IO[bytes]) -> dict[str, Any] | None:
    """The next message, or None at the end of the stream."""
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    (size,) = _HEADER.unpack(header)
    body = stream.read(size)
    return json.loads(body) if len(body) == size else None


def encode_labels(labels: Any) -> str:
    import numpy as np

    return base64.b64encode(zlib.compress(np.asarray(labels, dtype="<i4").tobytes())).decode()


def decode_labels(blob: bytes) -> Any:
    import numpy as np

    return np.frombuffer(zlib.decompress(blob), dtype="<i4")


def die_with_parent(parent: int) -> None:
    """Never outlive the process that started us, even if it is killed in the middle of a fit."""
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)

    def watch() -> None:  # where prctl does not exist, and for parents that were gone too soon
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    if hasattr(os, "getppid") and sys.platform != "win32":
        threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    """Serve jobs until the pipe closes."""
    die_with_parent(int(sys.argv[1]))
    faulthandler.enable()
    answers = os.fdopen(os.dup(1), "wb")
    jobs = os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)  # what an estimator prints must not end up among the answers
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    from unispectral.bench._environment import environment

    write_message(answers, {"event": "ready", "environment": environment()})
    server = Server(answers)
    while (job := read_message(jobs)) is not None:
        write_message(answers, checked(job) if "check" in job else server.serve(job))


def checked(job: dict[str, Any]) -> dict[str, Any]:
    """Whether the estimators of a study exist and have their parameters.

    Asked of a worker, which has to import them anyway; the runner itself then need not.
    """
    from unispectral.bench._estimators import check_method
    from unispectral.bench._toml import study_from_json

    try:
        for method in study_from_json(job["check"]).methods:
            check_method(method)
    except ValueError as error:
        return {"event": "checked", "error": str(error)}
    return {"event": "checked", "error": None}


class Server:
    """Runs jobs one after the other and keeps what they share."""

    def __init__(self, answers: IO[bytes] | None = None) -> None:
        from unispectral.bench._data import Keeper

        self.answers = answers
        self.keeper = Keeper()
        self.warmed: set[str] = set()

    def serve(self, job: dict[str, Any]) -> dict[str, Any]:
        """The answer to a job: its results, or the reason why there are none."""
        from unispectral.bench._data import DataUnavailable

        answer: dict[str, Any] = {"event": "end", "key": job["key"]}
        try:
            answer.update(self._fit(job))
        except DataUnavailable as error:
            answer.update(status="data", reason=str(error))
        except MemoryError as error:
            reason = f"The fit ran out of memory: {error}" if str(error) else "Out of memory."
            answer.update(status="memory", reason=reason)
        except Exception as error:
            answer.update(
                status="error",
                reason=f"{type(error).__name__}: {error}",
                facts={"traceback": traceback.format_exc(limit=-6)[-2000:]},
            )
        answer["peak_bytes"] = peak_bytes()
        return answer

    def _fit(self, job: dict[str, Any]) -> dict[str, Any]:
        import numpy as np

        from unispectral._threads import threads
        from unispectral.bench._estimators import build

        started = time.perf_counter()
        with threads(int(os.environ.get("OMP_NUM_THREADS", "1"))):
            reset_peak()
            X = self.keeper.prepare(job)
            estimator = build(job, self.keeper.n_clusters(job), self.keeper.n_samples)
            self._warm_up(job)
            if self.answers is not None:
                write_message(self.answers, {"event": "begin", "key": job["key"]})
            with (
                limit_growth(job["limits"]["bytes"]),
                warnings.catch_warnings(record=True) as said,
            ):
                warnings.simplefilter("always")
                reset_peak()
                wall, cpu = time.perf_counter(), time.process_time()
                estimator.fit(X)
                seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
        labels = np.asarray(estimator.labels_)
        if labels.shape != (self.keeper.n_samples,) or labels.dtype.kind not in "iu":
            raise ValueError(
                f"labels_ has shape {labels.shape} and dtype {labels.dtype}; expected "
                f"({self.keeper.n_samples},) whole numbers."
            )
        from unispectral.metrics import scores

        return {
            "status": "done",
            "reason": None,
            "scores": {k: float(v) for k, v in scores(self.keeper.target, labels).items()},
            "labels": encode_labels(labels),
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "prepare_seconds": wall - started,
            "n_samples": self.keeper.n_samples,
            "facts": {**_facts(estimator), "clusters": int(np.unique(labels).size)},
            "warnings": sorted({f"{w.category.__name__}: {w.message}"[:400] for w in said})[:5],
        }

    def _warm_up(self, job: dict[str, Any]) -> None:
        """Fit once to next to nothing, so that the time of a cell is not that of a compiler."""
        import numpy as np

        from unispectral.bench._estimators import build

        name = canonical_name(job)
        if name in self.warmed or not job["estimator"].startswith("unispectral."):
            return
        self.warmed.add(name)
        rng = np.random.default_rng(0)
        X = rng.normal(size=(40, 5)) + np.repeat([[0.0], [4.0]], 20, axis=0)
        if job["input"] != "features":
            from unispectral.kernels import KernelBank

            bank = KernelBank(X, ["linear", "gaussian"])
            X = bank.matrix(1) if job["input"] == "kernel" else bank
        with warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")
            build(job, 2).fit(X)


def canonical_name(job: dict[str, Any]) -> str:
    """Which compiled code a job needs, as far as can be told from outside."""
    return f"{job['estimator']}:{job['constructor']}:{job['input']}"


def _facts(estimator: Any) -> dict[str, Any]:
    """What the report shows of a fit besides its scores."""
    import numpy as np

    facts: dict[str, Any] = {}
    for name in ("objective_", "inertia_"):
        value = getattr(estimator, name, None)
        if value is not None and np.size(value) and np.isfinite(last := np.ravel(value)[-1]):
            facts["objective"] = float(last)
            break
    if isinstance(getattr(estimator, "n_iter_", None), (int, np.integer)):
        facts["iterations"] = int(estimator.n_iter_)
    if isinstance(getattr(estimator, "converged_", None), (bool, np.bool_)):
        facts["converged"] = bool(estimator.converged_)
    if isinstance(getattr(estimator, "stop_reason_", None), str):
        facts["stopped"] = estimator.stop_reason_[:200]
    weights = getattr(estimator, "kernel_weights_", None)
    if weights is not None and np.all(np.isfinite(weights)) and np.size(weights) > 1:
        facts["weights"] = [float(w) for w in np.ravel(weights)]
        names = getattr(estimator, "kernel_names_", None)
        if names is not None:
            facts["kernels"] = [str(name) for name in names]
    return facts


if __name__ == "__main__":
    main()

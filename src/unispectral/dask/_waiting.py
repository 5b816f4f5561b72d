"""Waiting for workers, and a sentence in place of waiting for ever."""

from __future__ import annotations

import inspect
import threading
import time
from typing import TYPE_CHECKING, Any

from unispectral._compat import optional
from unispectral._errors import warn

if TYPE_CHECKING:
    from distributed import Client

#: Seconds after which somebody looks whether those who should work still do.
_PATIENCE = 5.0
#: Seconds without any progress after which paused workers are no longer waited for.
_ENDURANCE = 60.0


def workers_of(client: Any) -> dict[str, Any]:
    """What the scheduler knows of all workers, by their addresses."""
    return client.scheduler_info(n_workers=-1)["workers"]


def able_workers(client: object, among: list[str] | None = None) -> list[str]:
    """The workers that are not paused, of ``among`` where any of these are left."""
    pause = _Pause()
    while True:
        there = workers_of(client)
        there = {one: there[one] for one in among or () if one in there} or there
        able = [one for one, known in there.items() if known["status"] != "paused"]
        if able or not there:
            return able
        pause.look(there, 0)
        time.sleep(_PATIENCE)


def wait_for(client: Client, futures: list[Any], among: list[str] | None = None) -> None:
    """Wait until tasks are done; ``among`` are the only workers that may do them.

    An OSError where none of these is left, and a MemoryError where all are paused for good.
    """
    wait = optional("distributed", extra="dask").wait
    pause = _Pause()
    while True:
        try:
            with client.as_current():  # which need not be that of everybody
                wait(futures, timeout=_PATIENCE)
            return
        except TimeoutError:
            there = workers_of(client)
        if among is not None:
            there = {one: there[one] for one in among if one in there}
            if not there:
                raise OSError("all workers with the table are lost") from None
        pause.look(there, sum(one.done() for one in futures))


def gather_results(client: Any, futures: list[Any]) -> list[Any]:
    """The results of tasks that any worker may do."""
    wait_for(client, futures)
    return client.gather(futures)


def watch(client: object, futures: list[Any]) -> None:
    """Let nobody wait for ever for tasks whose results are asked for later.

    While the futures live, a thread looks whether all workers are paused; where they stay so, what
    waits is cancelled with the sentence that a fit would raise.
    """
    keys = [future.key for future in futures]
    threading.Thread(target=_watch, args=(client, keys), daemon=True).start()


def _watch(client: Client, keys: list[Any]) -> None:
    pause = _Pause(tells=False)
    while client.status == "running" and any(key in client.futures for key in keys):
        time.sleep(_PATIENCE)
        try:
            waiting = [key for key, state in dict(client.futures).items() if _is_pending(state)]
            if waiting:
                pause.look(workers_of(client), len(client.futures) - len(waiting))
        except MemoryError as error:
            _cancel(client, keys, str(error))
            return
        except (OSError, ValueError):
            return  # the cluster is gone, and says so itself


def _is_pending(state: Any) -> bool:
    return state.status == "pending"


def _cancel(client: Any, keys: list[Any], sentence: str) -> None:
    """Cancel tasks that nobody begins, and before them those that wait for them."""
    future = optional("distributed", extra="dask").Future
    takes = inspect.signature(client.cancel).parameters
    words = {"reason": "workers are paused", "msg": sentence} if "msg" in takes else {}
    dependents = client.run_on_scheduler(_waiting_for, keys=keys, client_id=client.id)
    for some in (dependents, keys):
        wanted = [key for key in some if key in client.futures]
        wanted = [key for key in wanted if _is_pending(client.futures[key])]
        if wanted:
            client.cancel([future(key, client) for key in wanted], **words)


def _waiting_for(dask_scheduler: Any, keys: list[Any], client_id: str) -> list[Any]:
    """What a client wants that follows from some tasks, directly or not; the last comes first."""
    found: dict[Any, Any] = {}
    left = [dask_scheduler.tasks[key] for key in keys if key in dask_scheduler.tasks]
    while left:
        for one in left.pop().dependents:
            if one.key not in found:
                found[one.key] = one
                left.append(one)
    wanted = [
        key
        for key, one in found.items()
        if any(state.client_key == client_id for state in one.who_wants or ())
    ]
    return wanted[::-1]


class _Pause:
    """How long all workers have been paused without anything done.

    Dask begins no task on a worker that uses four fifths of its memory limit, and says so in the
    log of the worker alone.
    """

    def __init__(self, *, tells: bool = True) -> None:
        self.since: float | None = None
        self.done = 0
        self.told = not tells

    def look(self, there: dict[str, Any], done: int) -> None:
        """Warn once that nothing happens, and raise a MemoryError when it is for good."""
        now = time.monotonic()
        if not there or not all(map(_stuck, there.values())):
            self.since = None
            return
        if self.since is None or done != self.done:
            self.since = now
            self.done = done
        waited = now - self.since
        limits = [known["memory_limit"] for known in there.values() if known["memory_limit"]]
        if limits:
            limit = f" ({min(limits) / 1e9:.2g} GB)"
        else:
            limit = ""
        what = (
            f"All Dask workers that could go on ({len(there)}) are paused, because they use more "
            f"of their memory limit{limit} than Dask allows"
        )
        remedy = (
            "give the workers a larger memory_limit, cut X into blocks of fewer rows, or fit on "
            "fewer points with landmarks="
        )
        if waited >= _ENDURANCE:
            raise MemoryError(f"{what}, and nothing was done for {waited:.0f} s; {remedy}.")
        if not self.told:
            self.told = True
            warn(f"{what}; the fit waits for up to {_ENDURANCE:.0f} s. If it fails, {remedy}.")


def _stuck(known: dict[str, Any]) -> bool:
    """Whether a worker begins no task and works on none."""
    counts = known["metrics"].get("task_counts", {})
    return known["status"] == "paused" and not counts.get("executing")

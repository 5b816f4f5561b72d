"""``python -m robustness._killed_worker SEED``: a fit on two Dask workers, one of which is killed.

Prints ``same`` if the labels are those of the fit on this machine alone.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np

_N = 12_000


def _block_done(dask_scheduler: Any) -> bool:
    return any(
        key.startswith("neighbourhoods-") and task.state == "memory"
        for key, task in dask_scheduler.tasks.items()
        if isinstance(key, str)
    )


def main(seed: int) -> None:
    """Fit here, fit there with a murder in the middle, compare."""
    import dask.array as da
    import distributed

    import unispectral
    import unispectral.dask

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(5, 20))[rng.integers(0, 5, _N)] * 4 + rng.normal(size=(_N, 20))
    alone = unispectral.UnifiedSpectralClustering(5, whiten=None).fit(X).labels_
    options: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": 60}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        victim = list(cluster.workers.values())[seed % 2].pid
        killed = threading.Event()

        def kill() -> None:
            while not client.run_on_scheduler(_block_done):
                time.sleep(0.01)
            time.sleep(float(rng.uniform(0, 0.2)))
            os.kill(victim, signal.SIGKILL)
            killed.set()

        thread = threading.Thread(target=kill, daemon=True)
        thread.start()
        model = unispectral.dask.UnifiedSpectralClustering(5, whiten=None, client=client)
        labels = model.fit(da.from_array(X, chunks=(3_000, 20))).labels_.compute()
        in_time = killed.is_set()
        thread.join(30)
    same = "same" if (labels == alone).all() else "other"
    print("killed during the fit" if in_time else "killed too late", same, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))

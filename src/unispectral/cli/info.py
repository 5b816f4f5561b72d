"""``unispectral info``: what a bug report needs."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

from unispectral.cli._options import debug_option
from unispectral.cli._outputs import echo_json

__all__ = ["info"]

_PACKAGES = (
    "numpy", "scipy", "scikit-learn", "numba", "joblib", "threadpoolctl", "click", "pandas",
    "pyarrow", "openpyxl", "h5py", "matplotlib", "pooch", "dask", "distributed",
    "anndata", "mudata", "umap-learn",
)  # fmt: skip


@click.command()
@debug_option
def info() -> None:
    """Print versions, threads and memory, for bug reports.

    Nothing that names a person, a folder or a file is printed.
    """
    import numpy  # noqa: F401  loads the BLAS that is asked about below
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    from unispectral._memory import available_memory
    from unispectral._run import thread_count
    from unispectral._version import __version__

    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        total = None
    libraries = {
        f"{row['internal_api']} {row.get('version') or '?'}, {row['num_threads']} threads"
        for row in threadpool_info()
    }
    variables = sorted(os.environ.items())
    threads = {
        name: v
        for name, v in variables
        if name.endswith("_NUM_THREADS") or name == "NUMBA_DISABLE_JIT"
    }
    found: dict[str, Any] = {
        "unispectral": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": os.cpu_count() or 1,
        "threads": thread_count(),
        "memory": _gigabytes(total),
        "memory free": _gigabytes(available_memory()),
        "linear algebra": sorted(libraries),
        "packages": {name: _version(name) for name in _PACKAGES},
        "variables": threads,
    }
    echo_json(found)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _gigabytes(size: int | None) -> str:
    return "unknown" if size is None else f"{size / 1e9:.1f} GB"

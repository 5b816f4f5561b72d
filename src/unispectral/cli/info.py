"""``unispectral info``: what a bug report needs."""

from __future__ import annotations

import contextlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version

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
    import scipy.linalg  # noqa: F401  loads the BLAS that is asked about below
    from threadpoolctl import threadpool_info

    from unispectral._memory import available_memory
    from unispectral._run import thread_count
    from unispectral._version import __version__

    total = None
    with contextlib.suppress(AttributeError, ValueError, OSError):
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    libraries = {
        f"{row['internal_api']} {row.get('version') or '?'}, {row['num_threads']} threads"
        for row in threadpool_info()
    }
    names = sorted(n for n in os.environ if n.endswith("_NUM_THREADS") or n == "NUMBA_DISABLE_JIT")
    echo_json({
        "unispectral": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": os.cpu_count() or 1,
        "threads": thread_count(),
        "memory": _gigabytes(total),
        "memory free": _gigabytes(available_memory()),
        "linear algebra": sorted(libraries),
        "packages": {name: _version(name) for name in _PACKAGES},
        "variables": {name: os.environ[name] for name in names},
    })  # fmt: skip


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _gigabytes(size: int | None) -> str:
    if size is None:
        return "unknown"
    return f"{size / 1e9:.1f} GB"

"""Comparisons of clustering methods: studies, a runner that resumes, a store, tables, a report.

Three roles, as in benchopt: data sets, methods, scores. A *study* says which; the *runner* fits
every cell in a process of its own with limits on time and memory; the *store* keeps everything
needed to do a cell again; tables and pages are made from the store, never from the run.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unispectral.bench.export import write_tables
    from unispectral.bench.method import Column, Method, Reduction
    from unispectral.bench.report import write_report
    from unispectral.bench.results import Results
    from unispectral.bench.runner import Summary, run
    from unispectral.bench.store import Record, Store, StoreError
    from unispectral.bench.study import Dataset, Study, Surface

_HOMES = {
    "Column": "method",
    "Dataset": "study",
    "Method": "method",
    "Record": "store",
    "Reduction": "method",
    "Results": "results",
    "Store": "store",
    "StoreError": "store",
    "Study": "study",
    "Summary": "runner",
    "Surface": "study",
    "run": "runner",
    "write_report": "report",
    "write_tables": "export",
}

__all__ = [
    "Column",
    "Dataset",
    "Method",
    "Record",
    "Reduction",
    "Results",
    "Store",
    "StoreError",
    "Study",
    "Summary",
    "Surface",
    "run",
    "write_report",
    "write_tables",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)

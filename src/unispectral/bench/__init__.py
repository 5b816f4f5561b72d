"""Comparisons of clustering methods: studies, a runner that resumes, a store, tables, a report.

Three roles, as in benchopt: data sets, methods, scores. A *study* says which; the *runner* fits
every cell in a process of its own with limits on time and memory; the *store* keeps everything
needed to do a cell again; tables and pages are made from the store, never from the run.
"""

from __future__ import annotations

from unispectral.bench import statistics
from unispectral.bench.export import write_tables
from unispectral.bench.report import write_report
from unispectral.bench.results import Results
from unispectral.bench.runner import Summary, run
from unispectral.bench.store import Record, Store, StoreError
from unispectral.bench.study import Column, Study, StudyDataset, StudyMethod, Surface

__all__ = [
    "Column", "Record", "Results", "Store", "StoreError", "Study", "StudyDataset", "StudyMethod",
    "Summary", "Surface", "run", "statistics", "write_report", "write_tables",
]  # fmt: skip

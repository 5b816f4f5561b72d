"""Tables that people have: CSV, TSV, Parquet, Excel, NumPy, MATLAB, AnnData, HDF5.

`read_table` reads a whole table and prepares it, `TablePreparer` makes numbers of mixed columns
in a Pipeline. No file is trusted.
"""

from __future__ import annotations

from unispectral.tables._prepare import TablePreparer
from unispectral.tables._read import Table, read_table
from unispectral.tables._source import TableError

__all__ = ["Table", "TableError", "TablePreparer", "read_table"]

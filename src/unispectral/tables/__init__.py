"""Tables that people have: CSV, TSV, Parquet, Excel, NumPy, MATLAB, AnnData, HDF5.

`read_table` reads a whole table and prepares it, `TablePreparer` makes numbers of mixed columns
in a Pipeline, `write_table` writes results. No file is trusted.
"""

from __future__ import annotations

from unispectral.tables._mat import read_mat
from unispectral.tables._prepare import TablePreparer
from unispectral.tables._read import Table, read_table
from unispectral.tables._source import TableError
from unispectral.tables._write import write_table

__all__ = ["Table", "TableError", "TablePreparer", "read_mat", "read_table", "write_table"]

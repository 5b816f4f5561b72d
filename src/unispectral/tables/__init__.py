"""Tables that people have: CSV, TSV, Parquet, Excel, NumPy, MATLAB, AnnData, HDF5, Zarr.

`read_table` reads a whole table and prepares it, `TablePreparer` makes numbers of mixed columns
in a Pipeline, `open_rows` reads large tables block by block, `write_table` writes results. No file
is trusted.
"""

from __future__ import annotations

from unispectral.tables._mat import read_mat
from unispectral.tables._prepare import IMPUTATIONS, SCALES, Preparation
from unispectral.tables._preparer import TablePreparer
from unispectral.tables._read import Table, read_table
from unispectral.tables._rows import Rows, open_rows
from unispectral.tables._source import TableError
from unispectral.tables._write import write_table

__all__ = [
    "IMPUTATIONS",
    "SCALES",
    "Preparation",
    "Rows",
    "Table",
    "TableError",
    "TablePreparer",
    "open_rows",
    "read_mat",
    "read_table",
    "write_table",
]

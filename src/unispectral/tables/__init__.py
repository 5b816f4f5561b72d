"""Tables that people have: CSV, TSV, Parquet, Excel, NumPy, MATLAB, AnnData, HDF5.

`profile` says what each column is and whether it should be clustered by, `read_table` reads a
whole table and prepares it, `TablePreparer` makes numbers of mixed columns in a Pipeline. No file
is trusted.
"""

from __future__ import annotations

from unispectral.tables._prepare import TablePreparer
from unispectral.tables._profile import ColumnProfile, TableProfile, profile
from unispectral.tables._profile_rows import RowProfile
from unispectral.tables._read import read_table
from unispectral.tables._source import TableError
from unispectral.tables._table import Table

__all__ = [
    "ColumnProfile",
    "RowProfile",
    "Table",
    "TableError",
    "TablePreparer",
    "TableProfile",
    "profile",
    "read_table",
]

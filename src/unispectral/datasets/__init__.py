"""The paper's ten data sets, as the paper uses them or raw, MNIST, and one of several views."""

from unispectral.datasets._digits import load_multiview_digits
from unispectral.datasets._fetch import dataset_info, fetch, list_datasets
from unispectral.datasets._registry import DatasetInfo, File

__all__ = [
    "DatasetInfo",
    "File",
    "dataset_info",
    "fetch",
    "list_datasets",
    "load_multiview_digits",
]

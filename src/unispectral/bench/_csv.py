"""The figures of a study as CSV: one line for each figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from unispectral.bench._cells import canonical
from unispectral.bench.results import Results

_HEADER = (
    "protocol", "metric", "dataset", "method", "mean", "sd", "paper", "kernel", "parameters",
    "seconds", "fits", "fits_expected", "failed",
)  # fmt: skip
#: What a spreadsheet would take for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(
    results: Results, metrics: Sequence[str] | None = None, reference: str | None = None
) -> str:
    """Every figure on a line of its own; scores are per cent, an empty field is not known.

    ``reference`` has no part in it: whoever reads the figures can test them.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADER)
    titles = {dataset.name: dataset.title for dataset in results.study.datasets}
    for protocol in results.protocols():
        for metric in metrics or results.study.metrics:
            for name, row in results.table(protocol, metric).rows.items():
                for figure in row:
                    setting = figure.setting
                    if setting:
                        kernel = setting.kernel
                        parameters = canonical(setting.parameters)
                    else:
                        kernel = None
                        parameters = None
                    names = (protocol, metric, titles[name], figure.column)
                    scores = (figure.value, figure.spread, figure.paper)
                    fits = (figure.seconds, figure.done, figure.expected, figure.failed)
                    fields = (*names, *map(_number, scores), kernel, parameters, *fits)
                    writer.writerow([_plain(field) for field in fields])
    return text.getvalue()


def _number(value: float | None) -> str | None:
    if value is None:
        return None
    return f"{value:.4f}"


def _plain(field: object) -> object:
    """A text that no spreadsheet takes for a formula."""
    if isinstance(field, str) and field.startswith(_FORMULA):
        return f"'{field}"
    return field

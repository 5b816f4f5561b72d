"""The tables of a study for a paper: LaTeX with ``booktabs``."""

from __future__ import annotations

from collections.abc import Sequence

from unispectral.bench.results import Figure, Results, ResultTable, comparable
from unispectral.bench.statistics import Comparison, average_ranks, compare_with
from unispectral.bench.study import METRICS, PROTOCOLS

#: Columns that fit on a page.
_COLUMNS = 6
#: The level of the tests.
_LEVEL = 0.05
_HEAD = r"""% Needs \usepackage{booktabs}, \usepackage{graphicx} and UTF-8.
% Per cent. Best of a row in bold, second underlined, mean and standard deviation over the repeats.
"""
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "_": r"\_", "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "’": "'", "‘": "`", "“": "``", "”": "''",
    "–": "--", "—": "---", "×": r"$\times$", "±": r"$\pm$", "−": "$-$", "…": r"\ldots{}",
}  # fmt: skip


def to_latex(
    results: Results, metrics: Sequence[str] | None = None, reference: str | None = None
) -> str:
    """One table for each protocol and score, with ranks and tests in its last rows."""
    tables = [
        _table(results, results.table(protocol, metric), reference)
        for protocol in results.protocols()
        for metric in metrics or results.study.metrics
    ]
    return "\n".join([_HEAD, *tables])


def _table(results: Results, table: ResultTable, reference: str | None) -> str:
    tests = TableTests(table, reference)
    lines = _lines(results, table, tests)
    body = len(table.rows)
    if len(table.columns) > max(_COLUMNS, body):
        # Methods in rows, or the page would be too narrow for them.
        lines = [list(row) for row in zip(*lines, strict=True)]
        lines[0][0] = "Method"
        body = len(lines) - 1
    header, rows, last = lines[0], lines[1 : 1 + body], lines[1 + body :]
    name = f"{results.study.name}-{table.protocol}-{table.metric}"
    label = "".join(c if c.isascii() and c.isalnum() else "-" for c in name)
    wide = len(header) - 1 > _COLUMNS  # than a page has room for
    lines_of_latex = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_caption(results, table, tests)}}}",
        rf"\label{{tab:{label}}}",
        *([r"\resizebox{\linewidth}{!}{%"] if wide else []),
        rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
        r"\toprule",
        _line(header),
        r"\midrule",
        *map(_line, rows),
        *([r"\midrule", *map(_line, last)] if last else []),
        r"\bottomrule",
        r"\end{tabular}" + "}" * wide,
        r"\end{table}",
        "",
    ]
    return "\n".join(lines_of_latex)


def _lines(results: Results, table: ResultTable, tests: TableTests) -> list[list[str]]:
    """The columns' names, a row for each data set, and rows of ranks and tests."""
    titles = {dataset.name: dataset.title for dataset in results.study.datasets}
    lines = [["Data", *(_escape(c) + tests.mark(c) for c in table.columns)]]
    for name, figures in table.rows.items():
        first, second = _leaders(figures)
        lines.append([_escape(titles[name]), *(_cell(f, first, second) for f in figures)])
    return lines + tests.rows(table.columns)


class TableTests:
    """Ranks of the columns of a table, and their comparisons with one of them."""

    def __init__(self, table: ResultTable, reference: str | None) -> None:
        self.reference: str | None = None
        self.ranks: dict[str, float] = {}
        self.found: dict[str, Comparison | None] = {}
        self.n_datasets = 0
        compared = comparable(table)
        if compared is None:
            return
        values, present = compared
        columns = [c for c, there in zip(table.columns, present, strict=True) if there]
        ranks = average_ranks(values)
        self.ranks = dict(zip(columns, ranks.tolist(), strict=True))
        self.n_datasets = len(values)
        if reference in columns:
            at = columns.index(reference)
        else:
            at = int(ranks.argmin())
        self.reference = columns[at]
        self.found = dict(zip(columns, compare_with(values, at), strict=True))

    def mark(self, column: str) -> str:
        """A mark where the difference to the reference is significant."""
        if column == self.reference:
            return r"$^\star$"
        found = self.found.get(column)
        if found is not None and found.p_holm < _LEVEL:
            return r"$^\dagger$"
        return ""

    def rows(self, columns: Sequence[str]) -> list[list[str]]:
        """Average ranks, counts of wins, corrected p-values."""
        if not self.ranks:
            return []
        ranks = [f"{self.ranks[c]:.2f}" if c in self.ranks else "--" for c in columns]
        found = [self.found.get(c) for c in columns]
        wins = [f"{f.wins}/{f.ties}/{f.losses}" if f else "--" for f in found]
        holm = [_probability(f.p_holm) if f else "--" for f in found]
        return [["Average rank", *ranks], ["Win/tie/loss", *wins], ["$p$ (Holm)", *holm]]


def _caption(results: Results, table: ResultTable, tests: TableTests) -> str:
    protocol = PROTOCOLS[table.protocol]
    text = f"{results.study.title}: {METRICS[table.metric]} in per cent. {protocol}"
    said = _escape(text)
    if tests.reference is not None:
        said += (
            rf" Win/tie/loss and $p$ are against {_escape(tests.reference)} ($^\star$), over "
            f"{tests.n_datasets} data sets: Wilcoxon's signed-rank test, two-sided, corrected by "
            rf"Holm; $^\dagger$ differs at {100 * _LEVEL:g}\,\%."
        )
    return said


def _leaders(figures: list[Figure]) -> tuple[float | None, float | None]:
    """The best figure of a row and the second, at the precision that is printed.

    A figure by itself leads nothing.
    """
    if len(figures) < 2:
        return None, None
    values = sorted({round(f.value, 2) for f in figures if f.value is not None}, reverse=True)
    padded: list[float | None] = [*values, None, None]
    return padded[0], padded[1]


def _cell(figure: Figure, first: float | None, second: float | None) -> str:
    if figure.value is None:
        return "--"
    value = round(figure.value, 2)
    text = f"{value:.2f}"
    if value == first:
        text = rf"\textbf{{{text}}}"
    elif value == second:
        text = rf"\underline{{{text}}}"
    if figure.spread is not None:
        text += rf"\,{{\scriptsize$\pm${figure.spread:.2f}}}"
    return text


def _probability(p: float) -> str:
    if p < 0.001:
        return "$<$.001"
    return f"{p:.3f}".lstrip("0")


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _escape(text: str) -> str:
    """A text that LaTeX prints as it is."""
    plain = " ".join(text.split())
    return "".join(_SPECIAL.get(character, character) for character in plain)

"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

# Spelled out so that `--help` need not import the readers; a test holds them together.
SCALES = ("auto", "none", "standard", "robust", "log", "rank", "unit")
IMPUTATIONS = ("mean", "median", "zero")
MISSING = ("fill", "refuse", "drop")
FORMATS = ("csv", "tsv", "parquet", "excel", "npy", "npz", "mat", "h5ad", "hdf5")


class NumberOfClusters(click.ParamType):  # type: ignore[type-arg]
    """A whole number of at least 2, or ``auto`` where one method is run."""

    name = "number"

    def __init__(self, auto: bool = True) -> None:
        self.auto = auto

    def get_missing_message(self, param: object, ctx: object) -> str:
        return f"Give the number of clusters{', or auto to choose it' * self.auto}."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        if value == "auto" and not self.auto:
            self.fail("'auto' is for one method; give a number.", param, ctx)
        if value == "auto":
            return value
        try:
            count = int(value)
        except ValueError:
            self.fail(f"{value!r} is neither a whole number nor 'auto'.", param, ctx)
        if count < 2:
            self.fail(f"{count} is too few; ask for at least 2 clusters, or 'auto'.", param, ctx)
        return count


class ImageShape(click.ParamType):  # type: ignore[type-arg]
    """Height and width, as ``28x28``; ``28x28t`` if pixels are stored column by column."""

    name = "shape"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int, str]:
        text = str(value).lower()
        height, sign, width = text.removesuffix("t").partition("x")
        if not (sign and height.isdigit() and width.isdigit() and int(height) * int(width)):
            self.fail(f"{value!r} must be height x width, such as 28x28.", param, ctx)
        return int(height), int(width), "F" if text.endswith("t") else "C"


def all_of(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def file_option(*names: str, help: str) -> Callable[[F], F]:
    return click.option(*names, metavar="FILE", help=help)


def many_option(*names: str, metavar: str, help: str) -> Callable[[F], F]:
    return click.option(*names, multiple=True, metavar=metavar, help=help)


def _debug(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.obj["debug"] = ctx.obj.get("debug", False) or value


debug_option = click.option(
    "--debug", is_flag=True, expose_value=False, callback=_debug, is_eager=True,
    help="Show where an error comes from.",
)  # fmt: skip
quiet_option = click.option(
    "-q", "--quiet", is_flag=True, help="No progress and no notes, only results and errors."
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Summary as JSON on standard output."
)
append_option = click.option(
    "--append", is_flag=True, help="Write all columns of the table to -o, and the labels behind."
)
output_options = all_of(quiet_option, debug_option)


def check_append(append: bool, output: str | None) -> None:
    """Refuse to append to nothing."""
    if append and output is None:
        raise click.UsageError("--append says what -o writes; name a file with -o.")


def _threads(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    if value == 0:
        raise click.BadParameter("0 threads can do nothing; give -1 for all cores, 1 for one.")
    return value


method_options = all_of(
    click.option(
        "--jobs", type=int, metavar="N", callback=_threads, help="Threads; all cores by default."
    ),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True),
)
_KEY = "Sheet of a workbook, variable of an .npz, .mat or .h5 file, obsm or layer of an .h5ad."
_COLUMNS = "Use these columns only, separated by commas; 'pixel_*' matches many."
_USE = "Use these columns, too, whatever they look like: ids, years, codes, dates."
_LEAVE_OUT = "Do not use these columns."
_BESIDE = "Show these columns beside the clusters, but do not cluster by them."
_ORDER = """Answers from the least to the most, as 'size=small,medium,large'; without a name for
all columns."""
_GEO = "Latitude and longitude, as 'lat,lon': rows are compared by distances on the Earth."
_MISSING = "What becomes of missing values: fill them, refuse them, or drop their rows."
_IMPUTE = "How to fill missing values; categories get the most frequent.  [default: median]"
_SCALE = """'standard' for columns in different units, 'robust' by quartiles, 'log' or 'rank' for
skewed ones, 'unit' for rows.  [default: what the columns need]"""
_prepare_options = all_of(
    many_option("--columns", metavar="NAMES", help=_COLUMNS),
    many_option("--use", metavar="NAMES", help=_USE),
    many_option("--leave-out", metavar="NAMES", help=_LEAVE_OUT),
    many_option("--supplementary", metavar="NAMES", help=_BESIDE),
    many_option("--order", metavar="LEVELS", help=_ORDER),
    click.option("--geo", metavar="LAT,LON", help=_GEO),
    click.option("--missing", type=click.Choice(MISSING), default="fill", help=_MISSING),
    click.option("--impute", type=click.Choice(IMPUTATIONS), help=_IMPUTE),
    click.option("--scale", type=click.Choice(SCALES), help=_SCALE),
)
_CLASSES = "Column with known classes, used only for scores."
_FORMAT = "Format, if the name does not show it."
_HEADER = "Whether the first line holds names."
_HEADER_ROW = "The line with the names, counted from 1; what is above is skipped."
_FOOTER = "Lines at the end that are no rows."
_ID = "Column with the names of the rows.  [default: one that looks so]"


def table_options(*, prepare: bool = True) -> Callable[[F], F]:
    """Options of everything that reads a table, by the names that `read_table` gives them."""
    return all_of(
        click.option("--id", metavar="COLUMN", help=_ID),
        click.option("--truth", metavar="COLUMN", help=_CLASSES),
        *([_prepare_options] if prepare else []),
        click.option("--format", type=click.Choice(FORMATS), help=_FORMAT),
        click.option("--key", "--sheet", "key", help=_KEY),
        click.option("--separator", help="Separator of a text table, if it is not detected."),
        click.option("--header/--no-header", default=None, help=_HEADER),
        click.option("--header-row", type=click.IntRange(1), metavar="N", help=_HEADER_ROW),
        click.option("--skip-footer", type=click.IntRange(1), metavar="N", help=_FOOTER),
        click.option("--encoding", help="Encoding of a text table, such as latin-1."),
        many_option("--na", metavar="WORD", help="Word for a missing value, such as '?'."),
    )


def split_names(texts: tuple[str, ...] | list[str]) -> list[str]:
    """Split lists with commas; a name that holds a comma is quoted.

    >>> split_names(("a,b", '"c, d"'))
    ['a', 'b', 'c, d']
    """
    return [name.strip() for row in csv.reader(texts, skipinitialspace=True) for name in row]


def join_names(names: list[str]) -> str:
    """Names as `split_names` reads them.

    >>> join_names(["a", "c, d"])
    'a,"c, d"'
    """
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def parse_views(texts: tuple[str, ...]) -> dict[str, list[str]]:
    """Read ``NAME=column,column,…`` for each view."""
    views: dict[str, list[str]] = {}
    for text in texts:
        name, _, listed = text.partition("=")
        name = name.strip()
        columns = split_names([listed])
        if not name or not columns:
            wanted = "must be NAME=column,column,… such as colour=red,green,blue."
            raise click.BadParameter(f"{text!r} {wanted}", param_hint="'--view'")
        if name in views:
            raise click.BadParameter(f"{name!r} is given twice.", param_hint="'--view'")
        views[name] = columns
    return views


def parse_levels(texts: tuple[str, ...]) -> list[list[str]] | dict[str, list[str]]:
    """Read ``NAME=least,…,most`` for columns, or ``least,…,most`` for all.

    >>> parse_levels(("size=small,large",)), parse_levels(("bad,good",))
    ({'size': ['small', 'large']}, [['bad', 'good']])
    """
    named = {}
    everywhere = []
    for text in texts:
        name, sign, listed = text.rpartition("=")
        levels = split_names([listed])
        if len(levels) < 2:
            wanted = "must be levels from the least to the most, such as small,medium,large."
            raise click.BadParameter(f"{text!r} {wanted}", param_hint="'--order'")
        if sign:
            named[name.strip()] = levels
        else:
            everywhere.append(levels)
    if named and everywhere:
        wanted = "give the name of a column with each --order, or with none."
        raise click.BadParameter(wanted, param_hint="'--order'")
    return named or everywhere


def parse_parameter(text: str) -> tuple[str, Any]:
    """Read ``name=value``; the value is JSON, or text if it is not.

    >>> parse_parameter("alpha=0.5"), parse_parameter("solver=alm"), parse_parameter("tol=null")
    (('alpha', 0.5), ('solver', 'alm'), ('tol', None))
    """
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        wanted = "must be name=value, such as alpha=0.5."
        raise click.BadParameter(f"{text!r} {wanted}", param_hint="'--param'")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value

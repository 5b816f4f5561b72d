"""``unispectral cluster``: from a table to clusters, and whatever shall be kept of them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from unispectral.cli import _options
from unispectral.cli._methods import DEFAULT, GRAPH, METHOD_NAME, METHODS, build_method
from unispectral.cli._outputs import check_outputs, echo_json, say, write_outputs

__all__ = ["cluster"]

_METHOD_LINES = "\n".join(f"  {name:<11} {method.words}" for name, method in METHODS.items())
_EPILOG = f"""\b
Examples:
  Five clusters of a table, columns in different units:
    unispectral cluster customers.csv -k 5 -o labels.csv
  Choose the number, leave a column out, name the rows, write a page to look at:
    unispectral cluster customers.csv -k auto --leave-out region --id name --report page.html
  The table again with the clusters behind, for a spreadsheet:
    unispectral cluster customers.xlsx -k 5 --append -o clustered.xlsx
  Two groups of columns as two views of the same rows:
    unispectral cluster flowers.csv -k 3 --view petal='petal_*' --view sepal='sepal_*'
  Two files as two views, rows matched by a column:
    unispectral cluster text.csv image.parquet -k 4 --id document
  Embeddings, with their texts to name the clusters:
    unispectral cluster embeddings.npy --texts documents.txt --report page.html
  The communities of a graph, from a list of its edges:
    unispectral cluster ties.csv --kernel graph -o labels.csv
  In a pipe:
    cat table.tsv | unispectral cluster - -k 3 -o - | sort -t, -k2n
  Keep the model for later, and the graph for Gephi:
    unispectral cluster table.csv -k 5 --model m.unispectral --graph graph.graphml

\b
Methods:
{_METHOD_LINES}
"""
_K = "Number of clusters, or 'auto' to let the data choose."
_LABELS = """Labels: .csv, .tsv, .json, .parquet, .xlsx or -. In .csv and .tsv a name that a
spreadsheet would run as a formula gets an apostrophe in front."""
_SHAPE = """Rows are pictures of this height and width, such as 28x28 (28x28t if the pixels are
stored column by column); the page shows them."""
_TEXTS = """Texts of the rows, whose words describe the clusters: one a line in a .txt, or a column
of a table."""
_VIEW = "A group of columns as one view of the rows; give several."
_KERNEL = """Kernel, such as gaussian, linear, laplacian; several for a method of several kernels.
With 'graph' TABLE is a graph: lines of source, target and weight, Matrix Market (.mtx), or a
square matrix."""
_PARAM = "Any other parameter of the method, such as alpha=0.5."


@click.command(epilog=_EPILOG)
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
@click.option("-k", "n_clusters", type=_options.NumberOfClusters(), default="auto",
              show_default=True, help=_K)  # fmt: skip
@_options.file_option("-o", "--output", help=_LABELS)
@_options.append_option
@_options.file_option("--graph", help="Learned graph: .graphml, .npz, .csv or .tsv.")
@_options.file_option("--model", help="Fitted model, for unispectral predict.")
@_options.file_option("--report", help="Page to look at: one HTML file, works offline.")
@click.option("--image-shape", type=_options.ImageShape(), metavar="HxW", help=_SHAPE)
@_options.file_option("--texts", help=_TEXTS)
@_options.json_option
@_options.table_options()
@_options.many_option("--view", "views", metavar="NAME=COLUMNS", help=_VIEW)
@click.option("--method", type=METHOD_NAME, default=DEFAULT, show_default=True, metavar="NAME",
              help="See below.")  # fmt: skip
@_options.many_option("--kernel", "kernels", metavar="NAME", help=_KERNEL)
@_options.many_option("--param", "parameters", metavar="NAME=VALUE", help=_PARAM)
@_options.method_options
@_options.output_options
def cluster(tables: tuple[str, ...], as_json: bool, quiet: bool, **options: Any) -> None:
    """Find the clusters of a TABLE, or of several tables of the same rows (views).

    Reads CSV, TSV, Parquet, Excel, .npy, .npz, .mat, .h5ad and HDF5 files, also compressed (.gz,
    .bz2, .xz, .zst), or standard input (-). Each column is looked at first: ids, codes, years,
    dates and free text are not clustered by, gaps are filled, categories and answers made numbers;
    what was decided is said, and options change it. Numbers of rows and clusters count from 0.
    """
    wanted = {name: options[name] for name in ("output", "graph", "model", "report")}
    method = options["method"]
    output = options["output"]
    read = [*tables, *([options["texts"]] if options["texts"] else [])]
    check_outputs(wanted, read, as_json=as_json, method=method)
    _options.check_append(options["append"], output)
    given = {name: options[name] for name in ("seed", "jobs")}
    given["parameters"] = dict(_options.parse_parameter(text) for text in options["parameters"])
    given["kernels"] = _options.split_names(options["kernels"])
    estimator = build_method(method, options["n_clusters"], **given)
    views = _options.parse_views(options["views"])
    from unispectral.cli._fit import describe_fit, fit, keep_scales, method_lines, summarise
    from unispectral.cli._input import decided_flags, gather, gather_graph, put_texts_beside

    if given["kernels"] == [GRAPH]:
        data = gather_graph(tables, options)
    else:
        data = gather(tables, options, views)
    if options["texts"]:
        put_texts_beside(data, options["texts"])
    data.image_shape = shape = options["image_shape"]
    if shape and shape[0] * shape[1] != data.n_features:
        found = f"{shape[0] * shape[1]} pixels, but {data.n_features} columns are clustered."
        raise click.UsageError(f"--image-shape {shape[0]}x{shape[1]}: these are {found}")
    say("Before clustering", quiet=quiet)
    for note in data.notes:
        say(f"  {note}", quiet=quiet)
    if not given["parameters"].get("scaling"):
        keep_scales(estimator, data, options["scale"])
    fitted = fit(estimator, data, method, quiet=quiet)
    told = describe_fit(fitted)
    fitted.warnings = list(told.diagnostics)
    summary = summarise(fitted) | {"summary": told.to_dict()}
    command = shlex.join(["unispectral", *sys.argv[1:], *decided_flags(data, options)])
    title = " + ".join("standard input" if t == "-" else Path(t).name for t in tables)
    summary["files"] = write_outputs(wanted, fitted, told, command=command, title=title)
    if as_json:
        echo_json(summary)
    elif not (quiet and output == "-"):
        lines = [*told.lines(), "", *method_lines(summary)]
        if summary["files"]:
            lines += ["", f"Wrote {', '.join(summary['files'].values())}."]
        elif output is None:
            lines += ["", "Add -o labels.csv to keep the labels, --report page.html to see them."]
        click.echo("\n".join(lines), err=output == "-")
        return
    for warning in fitted.warnings:
        say(f"Warning: {warning}", quiet=quiet)

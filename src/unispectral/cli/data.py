"""``unispectral data``: the paper's data sets."""

from __future__ import annotations

from typing import Any

import click

from unispectral.cli._options import debug_option
from unispectral.datasets import dataset_info, list_datasets
from unispectral.datasets import fetch as fetch_dataset

__all__ = ["data"]

_NAME = click.Choice(list_datasets(), case_sensitive=False)


@click.group(
    epilog="""\b
Examples:
  unispectral data list
  unispectral data info yale
  unispectral data fetch yale -o yale.mat
  unispectral cluster yale.mat -k 15 --truth target
"""
)
def data() -> None:
    """List, fetch and describe the paper's data sets.

    Files are looked for in the folder that the variable UNISPECTRAL_DATA names and in the cache,
    then downloaded over https; every copy is held against its checksum.
    """


@data.command("list")
@debug_option
def list_() -> None:
    """List the data sets."""
    click.echo(f"{'name':<20} {'rows':>6} {'columns':>8} {'classes':>8}  what")
    for row in map(dataset_info, list_datasets()):
        rows, columns = row.shape
        click.echo(f"{row.name:<20} {rows:>6,} {columns:>8,} {row.n_classes:>8}  {row.title}")


@data.command()
@click.argument("name", type=_NAME, metavar="NAME")
@debug_option
def info(name: str) -> None:
    """Describe one data set: size, preparation, origin, terms of use."""
    row = dataset_info(name)
    if row.image_shape is None:
        images = None
    else:
        images = "{} × {}".format(*row.image_shape)
    described = {
        "name": row.name, "title": row.title, "rows": row.shape[0], "columns": row.shape[1],
        "classes": row.n_classes, "images": images, "prepared": row.description,
        "file": row.file.name, "sha256": row.file.sha256, "origin": row.file.url,
        "citation": row.citation, "terms": row.licence,
    }  # fmt: skip
    for key, value in described.items():
        click.echo(f"{key:<12} {value}")


@data.command()
@click.argument("names", type=_NAME, metavar="NAME...", nargs=-1, required=True)
@click.option("-o", "--output", metavar="FILE", help="Write the prepared data here: .mat.")
@click.option("--raw", is_flag=True, help="Without the paper's preparation.")
@click.option("--home", metavar="FOLDER", help="Folder to look in first and to download to.")
@debug_option
def fetch(names: tuple[str, ...], output: str | None, raw: bool, home: str | None) -> None:
    """Fetch data sets, check them, and write one as a file if asked to."""
    if output and len(names) > 1:
        raise click.UsageError("-o takes one data set at a time.")
    if output and not output.endswith(".mat"):
        raise click.UsageError(f"-o {output}: must end in .mat.")
    for name in names:
        found = fetch_dataset(name, data_home=home, raw=raw)
        views = "views" in found
        if views and output:
            problem = f"-o takes one table, and {name} has {len(found.views)} views"
            raise click.UsageError(f"{problem}; read them with datasets.fetch({name!r}).")
        if views:
            columns = sum(view.shape[1] for view in found.views.values())
        else:
            columns = found.data.shape[1]
        told = f"{name}: {len(found.target):,} rows, {columns:,} columns"
        told += f" in {len(found.views)} views" if views else ""
        told += f", {len(found.target_names)} classes"
        if output:
            _write(output, found)
            told += f"; wrote {output}"
        click.echo(f"{told}.")


def _write(path: str, found: Any) -> None:
    import scipy.io
    import scipy.sparse as sp

    from unispectral._files import atomic_path

    sparse = sp.issparse(found.data)
    content = {"data": sp.csc_matrix(found.data) if sparse else found.data, "target": found.target}
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        scipy.io.savemat(file, content, do_compression=True)

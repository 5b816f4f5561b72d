"""``unispectral demo``: the wines that come with scikit-learn."""

from __future__ import annotations

from pathlib import Path

import click

from unispectral.cli._options import debug_option, quiet_option
from unispectral.cli._outputs import say

__all__ = ["demo"]


@click.command()
@click.option("--folder", default="unispectral-demo", show_default=True, metavar="FOLDER",
              type=click.Path(file_okay=False),
              help="Where the table, its labels and a page are written.")  # fmt: skip
@quiet_option
@debug_option
@click.pass_context
def demo(ctx: click.Context, folder: str, quiet: bool) -> None:
    """Cluster 178 wines by 13 measurements; nothing needs to be downloaded.

    The method sees the measurements only, and chooses the number of clusters. Which of three
    cultivars a wine is made of is used afterwards, to score what it found. This is an easy table:
    on others it may do worse.
    """
    from sklearn.datasets import load_wine

    from unispectral.cli.cluster import cluster
    from unispectral.tables._write import write_table

    say("178 wines of three cultivars, 13 measurements each, from scikit-learn.", quiet=quiet)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    wines = load_wine()
    table = str(target / "wines.csv")
    columns = dict(zip(map(str, wines.feature_names), wines.data.T, strict=True))
    write_table(table, columns | {"cultivar": wines.target_names[wines.target]})
    kept = ["-o", str(target / "labels.csv"), "--report", str(target / "report.html")]
    arguments = [table, "-k", "auto", "--truth", "cultivar", *kept, *["-q"][:quiet]]
    say(f"unispectral cluster {' '.join(arguments)}", quiet=quiet)
    cluster.main(arguments, "unispectral cluster", standalone_mode=False, obj=ctx.obj)

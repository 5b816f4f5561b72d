"""``unispectral demo``: the wines that come with scikit-learn."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from unispectral.cli._methods import DEFAULT, build_method
from unispectral.cli._options import debug_option, quiet_option
from unispectral.cli._outputs import label_columns, say, write_outputs

__all__ = ["demo"]


@click.command()
@click.option(
    "--folder",
    default="unispectral-demo",
    show_default=True,
    metavar="FOLDER",
    help="Where labels, picture and page are written.",
)
@quiet_option
@debug_option
def demo(folder: str, quiet: bool) -> None:
    """Cluster 178 wines by 13 measurements; nothing needs to be downloaded.

    The method sees the measurements only, and chooses the number of clusters. Which of three
    cultivars a wine is made of is used afterwards, to score what it found. This is an easy table:
    on others it may do worse.
    """
    from sklearn.datasets import load_wine

    from unispectral._files import atomic_path
    from unispectral.cli._fit import fit
    from unispectral.cli._input import Input
    from unispectral.cli._summary import summarise, summary_lines
    from unispectral.plotting import overview
    from unispectral.tables import Table, write_table

    wines = load_wine()
    table = Table(wines.data, [str(name) for name in wines.feature_names], name="the wines")
    data = Input({"wines": table}, truth=wines.target_names[wines.target].astype(str))
    say("178 wines of three cultivars, 13 measurements each, from scikit-learn.", quiet=quiet)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    model = build_method(DEFAULT, "auto")
    fitted = fit(model, data, DEFAULT, quiet=quiet)

    found = label_columns(data, fitted.labels, model.membership_, model.outlier_score_)
    write_table(target / "labels.csv", found | {"cultivar": data.truth})
    files = [target / "labels.csv"]
    if find_spec("matplotlib"):
        import matplotlib

        matplotlib.use("Agg")  # a picture for a file needs no screen
        files.append(target / "overview.png")
        with atomic_path(files[-1]) as temporary:
            overview(model).savefig(temporary, dpi=110)
    else:
        say("No picture: that needs pip install 'unispectral[plot]'.", quiet=quiet)
    files.append(target / "report.html")
    write_outputs({"report": str(files[-1])}, fitted, command="unispectral demo", title="Wines")
    lines = [*summary_lines(summarise(fitted)), "", *(f"Wrote {file}" for file in files)]
    click.echo("\n".join(lines))
    for warning in fitted.warnings:
        say(f"Warning: {warning}", quiet=quiet)

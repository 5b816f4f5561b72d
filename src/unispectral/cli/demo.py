"""``unispectral demo``: the handwritten digits that come with scikit-learn."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import click

from unispectral.cli._options import debug_option, quiet_option

__all__ = ["demo"]


@click.command()
@click.option(
    "--folder",
    default="unispectral-demo",
    show_default=True,
    metavar="FOLDER",
    help="Where labels, picture and page are written.",
)
@click.option("--no-report", is_flag=True, help="Leave the page out.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@quiet_option
@debug_option
def demo(folder: str, no_report: bool, seed: int, quiet: bool) -> None:
    """Cluster 1,797 handwritten digits; nothing needs to be downloaded.

    SCMK sees the pixels only. The known digits are used afterwards, to score what it found.
    """
    from sklearn.datasets import load_digits

    from unispectral import SCMK
    from unispectral.cli._fit import fit
    from unispectral.cli._input import Input
    from unispectral.cli._progress import say
    from unispectral.cli._summary import summarise, summary_lines
    from unispectral.tables import Table

    digits = load_digits()
    table = Table(digits.data, [str(name) for name in digits.feature_names], name="the digits")
    data = Input({"digits": table}, truth=digits.target, image_shape=(8, 8, "C"))
    say("1,797 handwritten digits of 8 × 8 pixels, from scikit-learn.", quiet=quiet)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    model = SCMK(n_clusters=10, random_state=seed)
    begun = time.perf_counter()
    labels, warned = fit(model, data, "SCMK", quiet=quiet)
    seconds = time.perf_counter() - begun
    summary = summarise(
        model, labels, method="SCMK", seconds=seconds, truth=digits.target, warnings=warned
    )
    files = _write(target, model, data, summary, seed=seed, report=not no_report)
    lines = [*summary_lines(summary), "", *(f"Wrote {file}" for file in files)]
    sys.stdout.write("\n".join(lines) + "\n")
    for warning in warned:
        say(f"Warning: {warning}", quiet=quiet)


def _write(
    target: Path, model: Any, data: Any, summary: dict[str, Any], *, seed: int, report: bool
) -> list[Path]:
    from unispectral._files import atomic_path
    from unispectral.cli._outputs import label_columns
    from unispectral.plotting import overview
    from unispectral.report import write_report
    from unispectral.tables import write_table

    found = label_columns(data, model.labels_, model.membership_, model.outlier_score_)
    labels = found | {"digit": data.truth}
    write_table(target / "labels.csv", labels)
    import matplotlib

    matplotlib.use("Agg")  # a picture for a file needs no screen
    figure = overview(model)
    with atomic_path(target / "overview.png") as temporary:
        figure.savefig(temporary, dpi=110)
    files = [target / "labels.csv", target / "overview.png"]
    if report:
        X, columns = data.stacked()
        write_report(
            target / "report.html",
            model,
            X,
            columns=columns,
            truth=data.truth,
            title="Handwritten digits",
            method="SCMK",
            seconds=summary["seconds"],
            command=f"unispectral demo --seed {seed}",
            image_shape=data.image_shape,
            warnings=summary["warnings"],
        )
        files.append(target / "report.html")
    return files

"""What an installed package must do; run by the Python that it was installed for.

``python smoke.py`` tries the library, ``python smoke.py cli`` the command line as well. Nothing
of the repository is used.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score

import unispectral


def library(folder: Path) -> None:
    """Fit the three estimators, save one, and predict with what was read back."""
    assert unispectral.__version__ == version("unispectral")
    assert "site-packages" in str(files("unispectral")), "this is not the installed package"
    assert files("unispectral").joinpath("py.typed").is_file()
    X, grower = load_wine(return_X_y=True)
    model = unispectral.UnifiedSpectralClustering(n_clusters=3, random_state=0).fit(X)
    assert adjusted_rand_score(grower, model.labels_) > 0.8
    unispectral.save_model(model, folder / "wine.unispectral")
    kept = unispectral.load_model(folder / "wine.unispectral")
    np.testing.assert_array_equal(kept.predict(X), model.predict(X))
    few = ((X - X.mean(0)) / X.std(0))[::3]
    for paper in (unispectral.SCSK, unispectral.SCMK):
        assert len(np.unique(paper(n_clusters=3, random_state=0).fit(few).labels_)) == 3


def command_line(folder: Path) -> None:
    """Cluster a table with the installed command; labels and page are written."""
    wine = load_wine()
    names = ",".join(wine.feature_names)
    np.savetxt(folder / "wine.csv", wine.data, delimiter=",", header=names, comments="")
    command = Path(sys.executable).with_name("unispectral")
    options = ["cluster", "wine.csv", "-k", "3", "-o", "labels.csv", "--report", "page.html"]
    subprocess.run([command, *options, "--quiet"], cwd=folder, check=True)
    assert len((folder / "labels.csv").read_text().splitlines()) == 179
    assert "<html" in (folder / "page.html").read_text(encoding="utf-8")[:2000]
    subprocess.run([command, "info"], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def first_hour(folder: Path) -> None:
    """A table as people keep it, with the newest pandas: clusters, new rows, a pipeline."""
    import pandas as pd
    from sklearn.pipeline import make_pipeline

    from unispectral.tables import TablePreparer

    rng, group = np.random.default_rng(0), np.arange(90) % 3
    table = pd.DataFrame(
        {
            "customer": [f"C-{i}" for i in range(90)],
            "spent": [f"${x:,.2f}" for x in 85.4 + 700.0 * group + rng.uniform(0, 80, 90)],
            "visits": 24.0 - 9.0 * group + rng.normal(0, 1, 90),
            "member": np.where(group == 0, "yes", "no"),
            "city": np.array(["Köln", "Ulm", "Zürich"])[group],
            "since": pd.date_range("2024-01-01", periods=90).strftime("%Y-%m-%d"),
        }
    )
    table.loc[::17, "visits"] = np.nan
    table.to_csv(folder / "all.csv", index=False)
    table.iloc[60:].to_csv(folder / "new.csv", index=False)
    command = [Path(sys.executable).with_name("unispectral")]
    pipeline = make_pipeline(TablePreparer(), unispectral.UnifiedSpectralClustering(3)).fit(table)
    unispectral.save_model(pipeline, folder / "pipeline.unispectral")
    fit = ["cluster", "all.csv", "-k", "3", "--id", "customer", "--report", "p.html"]
    fit += ["--model", "table.unispectral"]
    subprocess.run([*command, *fit, "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    new = ["predict", "table.unispectral", "new.csv", "-o", "new_labels.csv", "--quiet"]
    subprocess.run([*command, *new], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    labels = pd.read_csv(folder / "new_labels.csv")["cluster"]
    assert adjusted_rand_score(group[60:], labels) == 1.0
    kept = unispectral.load_model(folder / "pipeline.unispectral")
    assert adjusted_rand_score(group[60:], kept.predict(table.iloc[60:])) == 1.0
    assert "<table" in pipeline._repr_html_()
    assert len(unispectral.describe(pipeline, table, n_features=1)) == 3


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        library(Path(place))
        if "cli" in sys.argv[1:]:
            command_line(Path(place))
            first_hour(Path(place))
    print(f"unispectral {unispectral.__version__} works with Python {sys.version.split()[0]}")

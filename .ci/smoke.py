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


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        library(Path(place))
        if "cli" in sys.argv[1:]:
            command_line(Path(place))
    print(f"unispectral {unispectral.__version__} works with Python {sys.version.split()[0]}")

"""Tables to cluster, and the real command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

CENTRES = np.array([[0.0, 0.0, 0.0, 0.0], [8.0, 0.0, 8.0, 0.0], [0.0, 9.0, 0.0, 9.0]])


@pytest.fixture(scope="session")
def blobs() -> pd.DataFrame:
    """Three well separated groups, with a name, a class, a date and a text for each row."""
    X, y = make_blobs(90, centers=CENTRES, cluster_std=0.7, random_state=0)
    frame = pd.DataFrame(X.round(4), columns=["width", "height", "depth", "weight"])
    frame.insert(0, "name", [f"thing {i}" for i in range(len(X))])
    frame["kind"] = np.array(["red", "green", "blue"])[y]
    frame["day"] = pd.date_range("2024-01-01", periods=len(X)).astype(str)
    return frame


@pytest.fixture(scope="session")
def folder(tmp_path_factory, blobs) -> Path:
    """A folder with the table whole, with gaps, and cut into views."""
    home = tmp_path_factory.mktemp("tables")
    blobs.to_csv(home / "things.csv", index=False)
    gaps = blobs.copy()
    gaps.loc[[3, 5], "width"] = np.nan
    gaps.loc[7, "weight"] = np.nan
    gaps.to_csv(home / "gaps.csv", index=False)
    blobs[["name", "width", "height"]].to_csv(home / "size.csv", index=False)
    other = blobs[["name", "depth", "weight"]].sample(frac=1, random_state=0)
    other.iloc[4:].to_csv(home / "mass.csv", index=False)  # four rows are absent
    return home


@pytest.fixture(scope="session")
def command():
    """Run the installed command in a process of its own."""
    program = Path(sys.executable).with_name("unispectral")
    settings = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "100"}

    def run(*arguments, cwd=None, stdin=None, check=None):
        done = subprocess.run(
            [program, *map(str, arguments)],
            cwd=cwd,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=240,
            env=settings,
        )
        if check is not None:
            assert done.returncode == check, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return run

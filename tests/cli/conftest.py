"""Tables to cluster, and the real command."""

from __future__ import annotations

import multiprocessing
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from robustness import _trial
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
    """Run the command in a process of its own; where processes can be forked, they share imports.

    Importing takes most of a short command's time.
    """
    methods = multiprocessing.get_all_start_methods()
    processes = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:
        processes.set_forkserver_preload(["robustness._trial", *_trial.IMPORTED])

    def run(*arguments, cwd=None, stdin=None, check=None):
        words = [str(argument) for argument in arguments]
        with tempfile.TemporaryDirectory() as name:
            streams = [Path(name, stream) for stream in ("stdin", "stdout", "stderr")]
            for stream in streams:
                stream.touch()
            streams[0].write_text(stdin or "", encoding="utf-8")
            told = (words, str(cwd or Path.cwd()), *map(str, streams))
            process = processes.Process(target=_trial.run_command, args=told)
            process.start()
            process.join(240)
            assert process.exitcode is not None, f"{words} takes too long"
            said = [stream.read_text(encoding="utf-8") for stream in streams[1:]]
        done = subprocess.CompletedProcess(words, process.exitcode, *said)
        if check is not None:
            assert done.returncode == check, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return run

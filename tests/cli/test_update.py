"""`unispectral update`: rows taken in, the model whole or as it was, and a page of changes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest

from unispectral import load_model
from unispectral.cli._app import run


@pytest.fixture
def here(monkeypatch, tmp_path, blobs):
    """A model of two of the three groups, and the third group in a file of its own."""
    monkeypatch.chdir(tmp_path)
    blobs[blobs.kind != "blue"].to_csv("first.csv", index=False)
    blobs[blobs.kind == "blue"].to_csv("later.csv", index=False)
    told = ["cluster", "first.csv", "-k", "2", "--model", "m", "-q", "--id", "name"]
    assert run([*told, "--leave-out", "kind,day"]) == 0
    return tmp_path


def test_new_rows_are_labelled_and_the_model_grows(here, capsys, blobs):
    later = blobs[blobs.kind == "blue"]
    capsys.readouterr()
    assert run(["update", "m", "later.csv", "-o", "o.csv", "--refit", "no"]) == 0
    out = capsys.readouterr().out
    assert "Cluster 2 was born: 30 rows that fit nowhere else." in out
    labels = pd.read_csv("o.csv")
    assert labels["id"].tolist() == later["name"].tolist()
    assert set(labels["cluster"]) == {2}
    model = load_model("m")
    assert model.n_clusters_ == 3
    assert len(model.labels_) == 90
    assert run(["predict", "m", "later.csv", "-o", "p.csv", "-q"]) == 0
    assert pd.read_csv("p.csv")["cluster"].tolist() == labels["cluster"].tolist()


def test_labels_are_lasting_numbers(here):
    model = load_model("m")
    model.cluster_ids_ = np.array([4, 7])
    model._record_ = model._record_._replace(next_id=9)
    from unispectral import save_model

    save_model(model, "m")
    assert run(["update", "m", "later.csv", "-o", "o.csv", "--refit", "no", "-q"]) == 0
    assert set(pd.read_csv("o.csv")["cluster"]) == {9}
    assert run(["predict", "m", "first.csv", "-o", "p.csv", "-q"]) == 0
    assert set(pd.read_csv("p.csv")["cluster"]) == {4, 7}


def test_the_page_shows_what_has_changed(here, capsys):
    options = ["--report", "page.html", "--json", "--model", "other"]
    before = (here / "m").read_bytes()
    assert run(["update", "m", "later.csv", "--refit", "yes", *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["n_new"] == 30
    assert "All 90 rows were clustered anew." in told["changes"]
    page = (here / "page.html").read_text(encoding="utf-8")
    assert "All 90 rows were clustered anew." in page
    assert "width" in page  # the columns of the table
    assert (here / "m").read_bytes() == before
    assert len(load_model("other").labels_) == 90


@pytest.mark.parametrize("kind", ["columns", "text"])
def test_a_bad_table_leaves_the_model(here, capsys, blobs, kind):
    before = (here / "m").read_bytes()
    bad = blobs.drop(columns="width") if kind == "columns" else blobs.assign(width="wide")
    bad.to_csv("bad.csv", index=False)
    capsys.readouterr()
    assert run(["update", "m", "bad.csv", "-o", "o.csv"]) != 0
    ours = capsys.readouterr().err
    assert run(["predict", "m", "bad.csv", "-o", "o.csv"]) != 0
    assert capsys.readouterr().err == ours
    assert (here / "m").read_bytes() == before
    assert not (here / "o.csv").exists()


def test_models_of_other_kinds_say_so(here, capsys):
    told = ["cluster", "first.csv", "-k", "2", "--method", "scsk", "--model", "s", "-q"]
    assert run([*told, "--leave-out", "kind,day"]) == 0
    assert run(["update", "s", "later.csv"]) != 0
    assert "takes no further rows" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
@pytest.mark.parametrize("when", ["in the update", "in the file", "before the name"])
def test_kill_leaves_the_old_model_and_again_gives_the_same(here, when):
    before = (here / "m").read_bytes()
    code = f"""
        import os, signal, sys
        from unispectral.cli._app import run

        def die(*_, **__):
            os.kill(os.getpid(), signal.SIGKILL)

        when = {when!r}
        if when == "in the update":
            import unispectral.living as target
            target.find_births = die
        elif when == "in the file":
            import numpy as np
            count = []
            write = np.lib.format.write_array
            def some(*arguments, **options):
                count.append(1)
                if len(count) > 5:
                    die()
                return write(*arguments, **options)
            np.lib.format.write_array = some
        else:
            import unispectral._files as target
            import unispectral.tables._write
            rename = target._rename
            def maybe(temporary, goal):
                if goal.name == "m":
                    die()
                return rename(temporary, goal)
            target._rename = maybe
        run(["update", "m", "later.csv", "-o", "o.csv", "-q"])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=here, check=False)
    assert done.returncode == -signal.SIGKILL
    assert (here / "m").read_bytes() == before
    assert run(["update", "m", "later.csv", "-o", "o.csv", "-q"]) == 0
    assert len(load_model("m").labels_) == 90
    assert not [name for name in os.listdir(here) if name.startswith(".writing")]


def test_views_and_gaps_are_read_as_predict_reads_them(monkeypatch, tmp_path, folder, blobs):
    monkeypatch.chdir(tmp_path)
    views = ["--view", "a=width,height", "--view", "b=depth,weight"]
    told = ["cluster", str(folder / "things.csv"), "-k", "3", "--model", "v", "-q", *views]
    assert run(told) == 0
    assert (
        run(["update", "v", str(folder / "gaps.csv"), "-o", "u.csv", "--refit", "no", "-q"]) == 0
    )
    assert run(["predict", "v", str(folder / "gaps.csv"), "-o", "p.csv", "-q"]) == 0
    assert pd.read_csv("u.csv")["cluster"].tolist() == pd.read_csv("p.csv")["cluster"].tolist()
    assert len(load_model("v").labels_) == 2 * len(blobs)

"""Options, messages and exit codes, in this process."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from unispectral import tables
from unispectral._errors import InputError, Sentence
from unispectral.cli import _options, _outputs
from unispectral.cli._app import run, say_in_shell, sentence
from unispectral.cli._methods import DEFAULT, METHODS, build_method
from unispectral.graph.files import GRAPH_FORMATS
from unispectral.tables import TableError, TablePreparer, _prepare
from unispectral.tables._formats import FORMATS


@pytest.fixture
def things(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return str(folder / "things.csv")


def refused(capsys, code, *arguments):
    assert run([str(argument) for argument in arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


def test_lists_for_help_are_those_of_the_readers():
    assert _options.SCALES == _prepare.SCALES
    assert _options.IMPUTATIONS == _prepare.IMPUTATIONS
    assert _outputs._ENDINGS["graph"] == tuple(f".{name}" for name in GRAPH_FORMATS)
    assert _options.FORMATS == FORMATS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["clster"], "Did you mean 'cluster'"),
        (["cluster", "T", "-k", "1"], "at least 2 clusters"),
        (["cluster", "T", "-k", "many"], "neither a whole number nor 'auto'"),
        (["cluster", "T", "-k", "3", "--method", "kmens"], "'kmens' is not one of"),
        (["cluster", "T", "-k", "auto", "--method", "kmeans"], "-k auto is not for"),
        (["cluster", "T", "-k", "3", "--param", "alpa=1"], "did you mean 'alpha'"),
        (["cluster", "T", "-k", "3", "--param", "alpha"], "must be name=value"),
        (["cluster", "T", "-k", "3", "--param", "n_clusters=2"], "say it with -k"),
        (
            ["cluster", "T", "-k", "3", "--param", "alpha=-1"],
            "'alpha' parameter of UnifiedSpectralClustering",
        ),
        (["cluster", "T", "-k", "3", "--method", "ward", "--kernel", "linear"], "--kernel"),
        (["cluster", "T", "-k", "3", "--method", "SCSK", "--kernel", "linear,rbf"], "one kernel"),
        (["cluster", "T", "-k", "3", "--method", "KKM", "--param", "max_time=3"], "has none"),
        (["cluster", "T", "T", "-k", "3", "--method", "KKM"], "takes one table"),
        (["cluster", "T", "-k", "3", "--view", "a"], "must be NAME=column"),
        (["cluster", "T", "-k", "3", "--view", "a=width", "--view", "a=depth"], "given twice"),
        (["cluster", "T", "T", "-k", "3", "--view", "a=width"], "several tables are views"),
        (["cluster", "T", "-k", "3", "--view", "a=width", "--columns", "depth"], "--columns"),
        (["cluster", "-", "-", "-k", "3"], "read once"),
        (["cluster", "T", "-k", "3", "-o", "labels.png"], "must end in .csv"),
        (["cluster", "T", "-k", "3", "--graph", "g.png"], "must end in .graphml"),
        (["cluster", "T", "-k", "3", "--report", "-"], "needs a file"),
        (["cluster", "T", "-k", "3", "-o", "-", "--json"], "standard output"),
        (["cluster", "T", "-k", "3", "-o", "a.csv", "--graph", "a.csv"], "both name"),
        (["cluster", "T", "-k", "3", "--method", "ward", "--model", "m"], "cannot be saved"),
        (
            ["cluster", "T", "-k", "3", "--method", "kmeans", "--model", "m"],
            "models of the method kmeans cannot be saved; use one of unified, SCMK, SCSK.",
        ),
        (["cluster", "T", "-k", "3", "--method", "kmeans", "--graph", "g.csv"], "learns no graph"),
        (["cluster", "T", "-k", "3", "--image-shape", "3x3"], "9 pixels"),
        (["cluster", "T", "-k", "3", "--image-shape", "big"], "height x width"),
        (["compare", "T", "-k", "auto"], "give a number"),
        (["demo", "--folder", "T"], "is a file"),
        (["bench", "run", "--time-limit", "-3"], "-3.0 is not in the range x>0"),
        (["bench", "run", "--memory-limit", "lots"], "--memory-limit='lots' is not a size; write"),
        (["bench", "run", "--study", "nix"], "--study 'nix' is neither a file nor a built-in"),
        (["bench", "run", "--datasets", "nix"], "--datasets: the study 'small' has no 'nix'; it"),
        (["bench", "run", "--methods", "nix"], "--methods: the study 'small' has no 'nix'; it"),
        (["cluster", "T", "-k", "3", "--jobs", "0"], "0 threads can do nothing; give -1 for all"),
        (["compare", "T", "-k", "3", "--jobs", "0"], "0 threads can do nothing"),
        (
            ["cluster", "T", "-k", "3", "--kernel", "gausian"],
            "--kernel 'gausian' is not a known kernel; did you mean 'gaussian'?",
        ),
        (["cluster", "T", "-k", "3", "--method", "SC", "--kernel", "foo"], "gaussian, linear"),
        (["data", "info", "usps"], "'usps' is not one of 'yale'"),
        (["data", "fetch", "yale", "jaffe", "-o", "a.mat"], "one data set at a time"),
    ],
)
def test_wrong_usage_is_2(capsys, things, arguments, message):
    arguments = [things if argument == "T" else argument for argument in arguments]
    assert message in refused(capsys, 2, *arguments)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["cluster", "nowhere.csv", "-k", "3"],
            "Cannot open 'nowhere.csv': no such file or directory.",
        ),
        (["cluster", "T", "-k", "3", "--id", "nam"], "--id 'nam' is not in"),
        (["cluster", "T", "-k", "3", "--truth", "class"], "--truth 'class' is not in"),
        (["cluster", "T", "-k", "3", "--columns", "name"], "has a different text in every"),
        (["cluster", "T", "-k", "91"], "-k 91 is more than the 90 rows of the table; ask for"),
        (["cluster", "T", "-k", "91", "--method", "kmeans"], "-k 91 is more than the 90 rows"),
        (["cluster", "T", "-k", "3", "--view", "a=q*"], "--view 'a=q*' is not in the file"),
        (
            ["cluster", "T", "-k", "3", "--leave-out", "widht"],
            "--leave-out 'widht' is not in the file 'things.csv'; perhaps 'width', 'weight'",
        ),
        (["cluster", "T", "-k", "3", "-o", "none/labels.csv"], "there is no folder"),
        (["predict", "T", "T"], "not a saved model"),
        (["predict", "nowhere", "T"], "Cannot open 'nowhere': no such file or directory."),
    ],
)
def test_bad_data_is_1_and_one_sentence(capsys, things, arguments, message):
    arguments = [things if argument == "T" else argument for argument in arguments]
    err = refused(capsys, 1, *arguments)
    assert message in err
    assert err.splitlines()[-1].startswith("Error: ")
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("k", ["2", "auto"])
def test_one_row_is_told_in_a_sentence(capsys, tmp_path, k):
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    err = refused(capsys, 1, "cluster", tmp_path / "one.csv", "-k", k, "-q")
    assert err == "Error: The table has one row only; clusters need two at least.\n"


@pytest.mark.parametrize("way", ["name", "relative", "symlink", "hard link", "folder"])
def test_inputs_are_never_overwritten(capsys, things, way, tmp_path):
    """Whatever leads to a file that is read: it stays as it was, and nothing else is written."""
    table = tmp_path / "t.csv"
    content = Path(things).read_bytes()
    table.write_bytes(content)
    name = {
        "name": table,
        "relative": Path("../") / tmp_path.name / "t.csv",
        "symlink": tmp_path / "link.csv",
        "hard link": tmp_path / "hard.csv",
        "folder": tmp_path / "again" / "t.csv",
    }[way]
    if way == "symlink":
        name.symlink_to("t.csv")
    elif way == "hard link":
        os.link(table, name)
    elif way == "folder":
        name.parent.symlink_to(".")
    there = sorted(tmp_path.iterdir())
    fit = ["cluster", table, "-k", "3"]
    for arguments in (
        [*fit, "-o", name],
        [*fit, "--graph", name],
        [*fit, "--model", name],
        ["cluster", things, table, "-k", "3", "-o", name],
        ["predict", "m", table, "-o", name],
        ["compare", table, "-k", "3", "-o", name],
    ):
        err = refused(capsys, 2, *arguments)
        assert "this file is read, and would be overwritten; name another." in err
        assert table.read_bytes() == content
    assert sorted(tmp_path.iterdir()) == there


@pytest.mark.parametrize("option", ["-o", "--model", "--graph", "--report"])
def test_a_folder_is_no_file_to_write_and_nothing_is_fitted(capsys, things, option, monkeypatch):
    ending = {"-o": "x.csv", "--model": "x", "--graph": "x.npz", "--report": "x.html"}[option]
    Path(ending).mkdir()
    monkeypatch.setattr("unispectral.cli._input.read_table", None)
    err = refused(capsys, 1, "cluster", things, "-k", "3", option, ending)
    assert err == f"Error: Cannot write {ending!r}: it is a folder; name a file in it.\n"


@pytest.mark.parametrize("arguments", [["cluster", "-", "-k", "3"], ["predict", "T", "-"]])
def test_a_closed_standard_input_is_told(capsys, things, arguments, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    arguments = [things if argument == "T" else argument for argument in arguments]
    assert "-: standard input is closed; open it, or name a file." in refused(
        capsys, 2, *arguments
    )


def test_tables_are_named_by_their_paths(capsys, things):
    views = ["--view", "a=width", "--view", "b=height,depth"]
    for options in ([], views):
        assert run(["cluster", things, "-k", "3", *options, "-q", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["tables"] == [things]


def test_a_model_is_not_overwritten_by_its_labels(capsys, things):
    Path("m.csv").write_bytes(b"a model")
    assert "would be overwritten" in refused(capsys, 2, "predict", "m.csv", things, "-o", "m.csv")
    assert Path("m.csv").read_bytes() == b"a model"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (InputError("n_clusters", "is too large", "ask for less", value=9), "-k 9 is too large;"),
        (InputError("id", "must be given"), "--id must be given."),
        (InputError("alpha", "must be positive", value=-1), "alpha=-1 must be positive."),
        (InputError("X", "is no table"), "The table is no table."),
        (TableError("The file 'a'", "is empty"), "The file 'a' is empty."),
        (ValueError("scale=3 stays\nas it is"), "scale=3 stays as it is"),
        (OSError(2, "No such file", "x"), "Cannot open 'x': no such file."),
        (KeyError("x"), "KeyError: 'x' (--debug shows where)"),
    ],
)
def test_errors_are_worded_for_the_shell(error, words):
    assert sentence(error).startswith(words)


@pytest.mark.parametrize(
    ("warning", "words"),
    [
        (Sentence("4 clusters stand out; try {n_clusters}.", n_clusters=4),
         "4 clusters stand out; try -k 4."),
        (Sentence("Try {n_clusters}, other columns\nor another kernel.", n_clusters="auto"),
         "Try -k auto, other columns or another kernel."),
        (Sentence("Cluster 2 is tiny; try a smaller {n_clusters}.", "n_clusters"),
         "Cluster 2 is tiny; try a smaller -k."),
        (Sentence("{X} has 1 distinct sample.", "X"), "The table has 1 distinct sample."),
        (Sentence("Of {X} one column is left.", "X"), "Of the table one column is left."),
        (Sentence("Stopped. Raise {max_iter}.", "max_iter"), "Stopped. Raise --param max_iter."),
        (Sentence("Use {solver}.", solver="exact"), "Use --param solver=exact."),
        (Sentence("The view {X} has {n_clusters}."), "The view {X} has {n_clusters}."),
        ("What others say of n_clusters=3\nstays.", "What others say of n_clusters=3 stays."),
    ],
)  # fmt: skip
def test_warnings_are_worded_for_the_shell(warning, words):
    assert say_in_shell(warning) == words


def test_warnings_of_a_fit_name_options(capsys, tmp_path):
    two = {"x": [1.5] * 6 + [2.5] * 6, "y": [2.5] * 6 + [7.5] * 6}
    pd.DataFrame(two | {"z": [0.5, 0.5] * 6}).to_csv(tmp_path / "t.csv", index=False)
    assert run(["cluster", str(tmp_path / "t.csv"), "-k", "3", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "Warning: The table has 2 distinct samples" in err
    assert "fewer than -k 3:" in err
    assert "n_clusters" not in err
    assert all("n_clusters" not in text for text in json.loads(out)["warnings"])


def test_ids_that_are_formulas_are_escaped(capsys, tmp_path, blobs):
    table = blobs.assign(name=["=cmd|' /C calc'!A0", *blobs["name"][1:]])
    table.to_csv(tmp_path / "t.csv", index=False)
    command = ["cluster", str(tmp_path / "t.csv"), "-k", "3", "--id", "name", "--method", "kmeans"]
    assert run([*command, "-q", "-o", str(tmp_path / "l.csv")]) == 0
    assert pd.read_csv(tmp_path / "l.csv")["id"][0] == "'=cmd|' /C calc'!A0"
    assert run([*command, "-q", "-o", str(tmp_path / "l.json")]) == 0
    assert json.loads((tmp_path / "l.json").read_text())[0]["id"] == "=cmd|' /C calc'!A0"
    assert run([*command, "-q", "-o", "-", "--json"]) == 2


def test_compressed_tables_are_clustered(capsys, tmp_path, blobs):
    blobs.to_csv(tmp_path / "t.csv.gz", index=False)
    command = ["cluster", str(tmp_path / "t.csv.gz"), "-k", "3", "--id", "name", "--json", "-q"]
    assert run([*command, "--method", "kmeans"]) == 0
    assert json.loads(capsys.readouterr().out)["n_clusters"] == 3


def test_views_of_any_name_are_saved_and_predicted(capsys, things, tmp_path):
    """Names are shown and stored, never used as names of files."""
    views = ["--view", "größe=width,height", "--view", "\n0=depth,weight", "--view", "../x=width"]
    assert run(["cluster", things, "-k", "3", *views, "--model", "m", "-o", "l.csv", "-q"]) == 0
    assert run(["predict", "m", things, "-o", "p.csv", "-q"]) == 0
    fitted, placed = pd.read_csv("l.csv"), pd.read_csv("p.csv")
    assert fitted["cluster"].tolist() == placed["cluster"].tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["l.csv", "m", "p.csv"]


def test_predict_advises_nothing_that_it_does_not_have(capsys, things, blobs):
    assert run(["cluster", things, "-k", "3", "--id", "name", "--model", "m", "-q"]) == 0
    blobs.astype({"width": object}).replace({"width": {blobs["width"][1]: "oops"}}).to_csv("t.csv")
    capsys.readouterr()
    assert run(["predict", "m", "t.csv", "--json"]) == 0
    err = capsys.readouterr().err
    assert "Column 'width': 1 value that cannot be read as a number, such as 'oops'; taken" in err
    assert "Filled in missing values: 1 in 'width' with" in err
    assert "--" not in err
    err = refused(capsys, 1, "predict", "m", things, things)
    assert "TABLE must be given once, not 2 times." in err


def test_predict_searches_once(capsys, things, monkeypatch):
    from unispectral import UnifiedSpectralClustering

    assert run(["cluster", things, "-k", "3", "--id", "name", "--model", "m", "-q"]) == 0
    calls = []
    predict_all = UnifiedSpectralClustering.predict_all

    def counted(self, X):
        calls.append(len(X))
        return predict_all(self, X)

    monkeypatch.setattr(UnifiedSpectralClustering, "predict_all", counted)
    assert run(["predict", "m", things, "--id", "name", "-o", "p.csv", "-q"]) == 0
    assert calls == [90]


def test_debug_shows_the_traceback(capsys, things):
    for arguments in (["--debug", "cluster"], ["cluster", "--debug"]):
        assert run([*arguments, "nowhere.csv", "-k", "3"]) == 1
        assert "Traceback" in capsys.readouterr().err


def test_interrupt_is_130(capsys, things, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("unispectral.cli._input.read_table", interrupted)
    assert run(["cluster", things, "-k", "3"]) == 130
    assert "Interrupted" in capsys.readouterr().err


def test_full_disk_is_told_and_leaves_the_old_file(capsys, things, monkeypatch):
    Path("full.csv").symlink_to("/dev/full")
    Path("graph.npz").write_bytes(b"old")
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    command = ["cluster", things, "-k", "3", "--method", "kmeans", "-q", "-o", "full.csv"]
    assert run(command) == 1
    told = "Error: Reading or writing failed: no space left on device.\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_reached(capsys, things, method):
    command = ["cluster", things, "-k", "3", "--id", "name", "--truth", "kind"]
    assert run([*command, "--method", method.lower(), "--json", "-q"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    summary = json.loads(out)
    assert summary["method"] == method
    assert summary["n_clusters"] == 3
    assert sum(summary["sizes"]) == 90


def test_parameters_reach_the_estimator():
    model = build_method(
        "SCMK",
        4,
        parameters={"alpha": 0.25, "normalize": ["center", "cosine"], "max_time": 2.5},
        kernels=["linear", "rbf"],
        seed=7,
        jobs=1,
    )
    assert (model.n_clusters, model.alpha, model.random_state) == (4, 0.25, 7)
    assert (model.n_jobs, model.max_time) == (1, 2.5)
    assert (model.kernels, model.normalize) == (["linear", "rbf"], ("center", "cosine"))


def test_the_default_method_is_the_label_free_one():
    from unispectral import UnifiedSpectralClustering

    model = build_method(DEFAULT, "auto", seed=3)
    assert isinstance(model, UnifiedSpectralClustering)
    assert (model.n_clusters, model.random_state) == ("auto", 3)
    assert [name for name, method in METHODS.items() if method.auto] == [DEFAULT]


def test_progress_of_a_fit_is_shown_and_not_kept(capsys, things):
    assert run(["cluster", things, "-k", "3", "--id", "name", "--json"]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"\[ +\d+\.\d s\] \w+", err)
    assert json.loads(out)["parameters"]["verbose"] == 0


def test_an_absolute_zero_of_rows_and_twins(capsys, tmp_path):
    one = tmp_path / "one.csv"
    pd.DataFrame({"id": ["a", "a", "b"], "x": [1.0, 2.0, 3.0]}).to_csv(one, index=False)
    two = tmp_path / "two.csv"
    pd.DataFrame({"id": ["a", "b"], "x": [1.0, 3.0]}).to_csv(two, index=False)
    err = refused(capsys, 1, "cluster", one, two, "-k", 2, "--id", "id", "-q")
    assert "'a' occurs twice" in err
    err = refused(capsys, 1, "cluster", one, two, "-k", 2, "--columns", "x", "-q")
    assert "different numbers of rows (one: 3, two: 2)" in err
    assert "--id" in err


@pytest.fixture
def named(monkeypatch, tmp_path):
    """Two views of eight rows, the second in another order; each knows the names of its rows."""
    monkeypatch.chdir(tmp_path)
    values = np.array([0.0, 0.1, 0.2, 0.3, 9.0, 9.1, 9.2, 9.3])
    one = pd.DataFrame({"a": values}, index=list("pqrstuvw"))
    return one, one.rename(columns={"a": "b"})[::-1]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_with_names_of_their_rows_are_matched_by_them(capsys, named, ending):
    for number, frame in enumerate(named, 1):
        getattr(frame, f"to_{ending}")(f"w{number}.{ending}")
    command = ["cluster", f"w1.{ending}", f"w2.{ending}", "-k", "2", "-o", "l.csv", "--model", "m"]
    assert run(command) == 0
    assert "Rows are matched by their names." in capsys.readouterr().err
    labels = pd.read_csv("l.csv")
    assert labels["id"].tolist() == list("pqrstuvw")
    assert labels["cluster"].tolist() == [0] * 4 + [1] * 4
    assert run(["predict", "m", f"w1.{ending}", f"w2.{ending}", "-o", "p.csv"]) == 0
    pd.testing.assert_frame_equal(pd.read_csv("p.csv"), labels)


def page_labels(page):
    """Labels from the lines of Python that a page shows."""
    text = Path(page).read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0]
    found = {}
    exec(json.loads(text)["redo"]["python"], found)
    return found["labels"].tolist()


@pytest.mark.parametrize("way", ["by id, rows absent", "by their names", "by position", "columns"])
def test_the_python_of_the_page_gives_the_labels(
    capsys, folder, monkeypatch, tmp_path, blobs, way
):
    monkeypatch.chdir(tmp_path)
    tables, options = ["size.csv", "mass.csv"], []
    for name, columns in (("size", ["width", "height"]), ("mass", ["depth", "weight"])):
        frame = blobs.set_index("name")[columns].sample(frac=1, random_state=ord(name[0]))
        frame.to_csv(f"{name}.csv", index=way != "by position", index_label="")
    if way == "by id, rows absent":
        tables = [str(folder / name) for name in tables]
        options = ["--id", "name"]
    elif way == "columns":
        tables = [str(folder / "things.csv")]
        options = ["--view", "size=width,height", "--view", "mass=depth,weight"]
    command = ["cluster", *tables, "-k", "3", *options, "-o", "l.csv", "--report", "p.html", "-q"]
    assert run(command) == 0
    assert page_labels("p.html") == pd.read_csv("l.csv")["cluster"].tolist()


def test_the_python_of_the_page_matches_sparse_tables(capsys, blobs, monkeypatch, tmp_path):
    from scipy import sparse

    anndata = pytest.importorskip("anndata")
    monkeypatch.chdir(tmp_path)
    named = blobs.set_index("name")
    for number, columns in enumerate((["width", "height"], ["depth", "weight"])):
        part = named[columns][:: 1 - 2 * number]
        data = anndata.AnnData(sparse.csr_matrix(part.to_numpy()), part[[]], part.T[[]])
        data.write_h5ad(f"{number}.h5ad")
    command = ["cluster", "0.h5ad", "1.h5ad", "-k", "3", "-o", "l.csv", "--report", "p.html", "-q"]
    assert run(command) == 0
    labels = pd.read_csv("l.csv")
    assert labels["id"].tolist() == blobs["name"].tolist()
    assert page_labels("p.html") == labels["cluster"].tolist()


def test_rows_without_names_are_matched_by_position_and_it_is_said(capsys, named):
    one, two = named
    one.to_csv("w1.csv")
    two.to_csv("w2.csv", index=False)
    assert run(["cluster", "w1.csv", "w2.csv", "-k", "2"]) == 0
    assert "Rows are matched by position: they have no names in 'w2'." in capsys.readouterr().err


def test_names_that_match_no_rows_are_refused(capsys, named):
    one, two = named
    one.to_csv("w1.csv")
    two.rename(index={"q": "p"}).to_csv("w2.csv")
    err = refused(capsys, 1, "cluster", "w1.csv", "w2.csv", "-k", "2")
    assert (
        "must be unique to match rows across tables, but 'p' occurs twice in the view 'w2'" in err
    )
    two.rename(index=str.upper).to_csv("w2.csv")
    err = refused(capsys, 1, "cluster", "w1.csv", "w2.csv", "-k", "2")
    assert (
        "must be the same in all tables, but no other has those of the view 'w1'; give --id" in err
    )
    for number in (1, 2):  # the same names in the same order need not be unique
        one.rename(index={"q": "p"}).to_csv(f"w{number}.csv")
    assert run(["cluster", "w1.csv", "w2.csv", "-k", "2", "-q"]) == 0


def test_a_model_saved_in_python_predicts(capsys, tmp_path, blobs):
    from unispectral import UnifiedSpectralClustering, save_model

    X = blobs[["width", "height"]]
    model = UnifiedSpectralClustering(3).fit(X)
    save_model(model, tmp_path / "m.npz")
    blobs.to_csv(tmp_path / "t.csv", index=False)
    assert run(["predict", str(tmp_path / "m.npz"), str(tmp_path / "t.csv"), "-q", "-o", "-"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    np.testing.assert_array_equal([int(line.split(",")[1]) for line in lines], model.labels_)


def test_a_model_of_an_array_asks_for_a_frame(capsys, things, blobs):
    from unispectral import UnifiedSpectralClustering, save_model

    save_model(UnifiedSpectralClustering(3).fit(blobs[["width", "height"]].to_numpy()), "m.npz")
    err = refused(capsys, 1, "predict", "m.npz", things)
    assert "fitted to an array; fit it to a frame" in err


def test_a_saved_pipeline_is_for_python(capsys, things, blobs):
    from unispectral import UnifiedSpectralClustering, save_model

    pipeline = make_pipeline(TablePreparer(), UnifiedSpectralClustering(3))
    save_model(pipeline.fit(blobs.drop(columns=["name", "day"])), "m.npz")
    err = refused(capsys, 1, "predict", "m.npz", things)
    assert "The model is a pipeline; load it in Python with unispectral.load_model." in err


def test_data_info(capsys):
    assert run(["data", "info", "YALE"]) == 0
    row = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert (row["rows"], row["columns"], row["classes"]) == ("165", "1024", "15")
    assert len(row["sha256"]) == 64


def test_sparse_data_are_written(capsys, data_home, tmp_path):
    path = tmp_path / "tr11.mat"
    assert run(["data", "fetch", "tr11", "-o", str(path)]) == 0
    table = tables.read_table(path, key="data", truth="target")
    assert table.values.shape == (414, 6429)
    assert len(np.unique(table.truth)) == 9
    capsys.readouterr()
    assert "must end in .mat" in refused(capsys, 2, "data", "fetch", "tr11", "-o", "t.npz")


def test_ascii_locales_get_utf8(blobs, tmp_path, monkeypatch):
    import io
    import sys

    for name in ("stdout", "stderr"):
        stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        monkeypatch.setattr(sys, name, stream)
    blobs.rename(columns={"width": "größe"}).to_csv(tmp_path / "t.csv", index=False)
    table = str(tmp_path / "t.csv")
    assert run(["cluster", table, "-k", "3", "--method", "kmeans", "--id", "name"]) == 0
    sys.stdout.flush()
    assert "größe" in sys.stdout.buffer.getvalue().decode("utf-8")


@pytest.fixture
def mixed(blobs, tmp_path, monkeypatch):
    """A table whose rows are told apart by text alone; the numbers are noise."""
    monkeypatch.chdir(tmp_path)
    kind = blobs["kind"]
    frame = pd.DataFrame({"noise": np.random.default_rng(0).random(len(kind)).round(3)})
    frame["price"] = kind.map({"red": "$5.10", "green": "$1,200", "blue": "$650"})
    frame["member"] = kind.map({"red": "yes", "green": "no", "blue": "yes"})
    frame["kind"] = kind
    frame.to_csv("mixed.csv", index=False)
    return frame


def test_text_is_encoded_and_again_for_new_rows(capsys, mixed):
    options = ["-k", "3", "--truth", "kind", "-o", "labels.csv"]
    assert run(["cluster", "mixed.csv", *options, "--model", "m", "--report", "p.html"]) == 0
    out, err = capsys.readouterr()
    assert "accuracy 1.000" in out
    assert "Used: 'noise', 'price' ($); as yes or no 'member'." in err
    mixed[["member", "price", "noise"]].assign(more="x").to_csv("new.csv", index=False)
    assert run(["predict", "m", "new.csv", "-o", "again.csv"]) == 0
    labels = [pd.read_csv(name)["cluster"].tolist() for name in ("labels.csv", "again.csv")]
    assert labels[0] == labels[1]
    assert "encode=True" in Path("p.html").read_text(encoding="utf-8")
    capsys.readouterr()
    mixed.drop(columns="price").to_csv("less.csv", index=False)
    err = refused(capsys, 1, "predict", "m", "less.csv")
    assert "Error: The file 'less.csv' lacks the column 'price', which the model needs" in err
    assert "--columns" not in err


def test_gaps_are_filled_refused_or_dropped(capsys, mixed):
    mixed.loc[3, "noise"] = np.nan
    mixed.to_csv("gaps.csv", index=False)
    arguments = ["cluster", "gaps.csv", "-k", "2", "-o", "labels.csv"]
    assert run(arguments) == 0
    assert "Filled in missing values: 1 in 'noise' with" in capsys.readouterr().err
    assert len(pd.read_csv("labels.csv")) == 90
    err = refused(capsys, 1, *arguments, "--missing", "refuse")
    assert "--missing 'refuse' finds 1 missing value in 'noise' (1); fill them" in err
    assert run([*arguments, "--missing", "drop", "--model", "m"]) == 0
    assert "Left out 1 row with missing values." in capsys.readouterr().err
    rows = pd.read_csv("labels.csv")["row"].tolist()
    assert rows == [row for row in range(90) if row != 3]
    assert run(["predict", "m", "gaps.csv", "-o", "again.csv"]) == 0
    assert pd.read_csv("again.csv")["row"].tolist() == rows
    capsys.readouterr()
    err = refused(capsys, 2, *arguments, "--missing", "drop", "--impute", "mean")
    assert "--impute says how to fill, and --missing drop not to." in err


def test_compare_takes_times_without_compilation(capsys, things, monkeypatch):
    from numba.core import event

    from unispectral.cli import _fit

    fit, timed = _fit.fit, []

    def watched(estimator, data, method, **options):
        with event.install_recorder("numba:compile") as recorder:
            fitted = fit(estimator, data, method, **options)
        timed.append((data.n_samples, len(recorder.buffer)))
        return fitted

    monkeypatch.setattr(_fit, "fit", watched)
    monkeypatch.setattr("unispectral.cli.compare._WARM", 30)
    methods = "ward,unified,SSR,AASC"
    command = ["compare", things, "-k", "3", "-q", "--seeds", "1", "--methods", methods]
    assert run(command) == 0
    capsys.readouterr()
    assert timed[::2] == [(30, compiled) for _, compiled in timed[::2]]
    assert timed[1::2] == [(90, 0)] * 4


def test_compare_gives_all_methods_the_same_columns(capsys, tmp_path):
    """Wine has one column of large numbers, which k-means would follow alone."""
    from sklearn.cluster import KMeans
    from sklearn.datasets import load_wine
    from sklearn.metrics import adjusted_rand_score
    from sklearn.preprocessing import StandardScaler

    wine = load_wine(as_frame=True)
    table = wine.data.assign(kind=wine.target_names[wine.target])
    table.to_csv(tmp_path / "wine.csv", index=False)
    command = ["compare", str(tmp_path / "wine.csv"), "-k", "3", "--truth", "kind", "-q"]
    command += ["--methods", "kmeans,unified", "--report", str(tmp_path / "page.html")]
    assert run(command) == 0
    out = capsys.readouterr().out
    assert "All methods get the same columns, standardised: 1 of 13" in out
    assert run([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (found,) = (one for one in told["methods"] if one["method"] == "kmeans")
    X = StandardScaler().fit_transform(wine.data)
    labels = KMeans(3, n_init=10, random_state=0).fit_predict(X)
    assert found["scores"]["ari"] == pytest.approx(
        adjusted_rand_score(wine.target, labels), abs=0.02
    )
    assert told["verdict"] in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert told["verdict"] in out


def test_compare_puts_the_best_first_and_says_so(capsys, tmp_path):
    from sklearn.datasets import make_moons

    X, y = make_moons(150, noise=0.05, random_state=0)
    pd.DataFrame(X, columns=["x", "y"]).assign(side=y).to_csv(tmp_path / "m.csv", index=False)
    command = ["compare", str(tmp_path / "m.csv"), "-k", "2", "-q"]
    command += ["--methods", "kmeans,unified,ward"]
    assert run([*command, "--truth", "side"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()[1:2]] == ["unified"]
    assert "unified comes closest to the known classes (accuracy 1.000), before ward" in out
    assert "Agreement" not in out
    assert run([*command, "--columns", "x,y", "--agreement", "-o", str(tmp_path / "s.csv")]) == 0
    out = capsys.readouterr().out
    assert "ward comes first, before" in out
    assert "need not be the right ones" in out
    assert "Agreement (adjusted Rand index" in out
    table = pd.read_csv(tmp_path / "s.csv").set_index("method")
    ranks = table[["silhouette", "modularity", "cut", "calinski_harabasz", "davies_bouldin"]]
    mean = ranks.rank(ascending=False).mean(axis=1)
    assert mean.is_monotonic_increasing


def test_distances_are_told_in_plain_words():
    from unispectral.cli._fit import method_lines

    found = {"method": "unified", "n_clusters": 2, "seconds": 1.0, "sizes": [3, 4], "n_iter": 1}
    lines = method_lines(found | {"geometry_weights": {"linear": 1.0, "whitened": 0.0}})
    assert lines[-1] == "Found by UnifiedSpectralClustering in 1.0 s, 1 iteration."
    assert lines[0] == "Distances: plain Euclidean; 1 alternative was tried, it was not better."
    weights = {f"k{i}": 0.1 for i in range(7)} | {"linear": 0.0}
    lines = method_lines(found | {"kernel_weights": weights})
    assert lines[0].endswith("k4 0.100 and 2 more; 1 has none.")


def test_the_nodes_of_a_graph_are_clustered(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [
        f"{team}{one},{team}{other}" for team in "ab" for one in range(9) for other in range(one)
    ]
    Path("ties.csv").write_text("\n".join(["source,target", *lines, "a0,b0"]), encoding="utf-8")
    arguments = ["--kernel", "graph", "-k", "2"]
    written = ["-o", "labels.csv", "--graph", "learned.csv", "--report", "page.html"]
    assert run(["cluster", "ties.csv", *arguments, *written, "-q"]) == 0
    labels = pd.read_csv("labels.csv", index_col="id")["cluster"]
    assert labels.groupby(labels.index.str[0]).nunique().tolist() == [1, 1]
    assert labels.nunique() == 2
    assert Path("page.html").stat().st_size > 0
    capsys.readouterr()
    for more, words in (
        (["--leave-out", "a"], "reads a graph; leave it out"),
        (["--model", "m.unispectral"], "--model is for tables"),
        (["--method", "kmeans"], "--kernel graph is for the method unified, not for kmeans"),
        (["ties.csv"], "reads one graph"),
    ):
        assert words in refused(capsys, 2, "cluster", "ties.csv", *arguments, *more)

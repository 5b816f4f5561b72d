"""Each command as its user runs it, in a process of its own."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from unispectral import UnifiedSpectralClustering
from unispectral.tables._mat import read_mat

pytestmark = pytest.mark.xdist_group("cli")


@pytest.fixture(scope="module")
def clustered(folder, command, tmp_path_factory):
    """One run that writes everything."""
    home = tmp_path_factory.mktemp("results")
    done = command(
        "cluster", folder / "things.csv", "-k", 3, "--id", "name", "--truth", "kind",
        "--scale", "standard", "-o", home / "labels.csv", "--graph", home / "graph.graphml",
        "--model", home / "model.unispectral", "--report", home / "page.html", "--json",
        check=0,
    )  # fmt: skip
    return home, done


def test_help_is_quick_and_loads_nothing():
    program = (
        "import sys\n"
        "from unispectral.cli._app import run\n"
        "code = run(['--help']) or run(['cluster', '--help']) or run(['compare', '--help'])\n"
        "heavy = {'numpy', 'sklearn', 'pandas', 'numba'} & set(sys.modules)\n"
        "sys.exit(code or ','.join(heavy) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for word in ("Examples:", "cluster", "predict", "compare", "data", "demo", "info", "bash"):
        assert word in done.stdout


def test_cluster_writes_everything(clustered, blobs):
    home, done = clustered
    summary = json.loads(done.stdout)
    assert summary["n_clusters"] == 3
    assert summary["scores"]["accuracy"] == 1.0
    assert sum(summary["sizes"]) == 90
    assert summary["dropped"] == {"day": "holds dates"}
    assert set(summary["files"]) == {"labels", "graph", "model", "report"}
    labels = pd.read_csv(home / "labels.csv")
    assert labels["id"].tolist() == blobs["name"].tolist()
    assert np.bincount(labels["cluster"]).tolist() == summary["sizes"]
    X = blobs[["width", "height", "depth", "weight"]]
    again = UnifiedSpectralClustering(3).fit_predict((X - X.mean()) / X.std(ddof=0))
    assert adjusted_rand_score(labels["cluster"], again) == 1.0
    assert "Left out, but shown beside the clusters: 'day' (holds dates)." in done.stderr
    assert "\x1b" not in done.stderr
    page = (home / "page.html").read_text(encoding="utf-8")
    assert "things.csv: UnifiedSpectralClustering</title>" in page


def test_graph_opens_in_networkx(clustered):
    home, _ = clustered
    graph = nx.read_graphml(home / "graph.graphml")
    labels = pd.read_csv(home / "labels.csv")
    assert graph.number_of_nodes() == 90
    assert [graph.nodes[f"n{i}"]["cluster"] for i in range(90)] == labels["cluster"].tolist()
    assert graph.nodes["n4"]["label"] == "thing 4"


def test_predict_repeats_the_labels_of_the_fit(clustered, folder, command, tmp_path, blobs):
    home, _ = clustered
    # Other columns, another order, and text beside: columns are found by their names.
    shuffled = blobs[["day", "weight", "height", "depth", "width", "name"]]
    shuffled.to_csv(tmp_path / "new.tsv", sep="\t", index=False)
    command(
        "predict", home / "model.unispectral", tmp_path / "new.tsv", "--id", "name",
        "-o", tmp_path / "new.json", check=0,
    )  # fmt: skip
    found = pd.DataFrame(json.loads((tmp_path / "new.json").read_text()))
    labels = pd.read_csv(home / "labels.csv")
    assert found["id"].tolist() == labels["id"].tolist()
    assert found["cluster"].tolist() == labels["cluster"].tolist()
    assert found["membership"].tolist() == pytest.approx(labels["membership"].tolist(), abs=2e-6)
    assert found["outlier_score"].tolist() == labels["outlier_score"].tolist()


def test_predict_says_which_new_rows_are_strange(clustered, command, tmp_path, blobs):
    home, _ = clustered
    moved = blobs.iloc[:6].copy()
    moved.loc[moved.index[:2], ["width", "height", "depth", "weight"]] += 1e3
    moved.to_csv(tmp_path / "new.csv", index=False)
    command(
        "predict", home / "model.unispectral", tmp_path / "new.csv",
        "-o", tmp_path / "new.parquet", check=0,
    )  # fmt: skip
    found = pd.read_parquet(tmp_path / "new.parquet")
    assert found.columns.tolist() == ["id", "cluster", "membership", "outlier_score", "outlier"]
    assert found["id"].tolist() == moved["name"].tolist()  # the model knows what names the rows
    assert found["outlier_score"][:2].min() > found["outlier_score"][2:].max()


def test_from_standard_input_to_standard_output(folder, command):
    text = (folder / "things.csv").read_text()
    done = command("cluster", "-", "-k", 3, "--columns", "w*,height", "-o", "-", stdin=text)
    assert done.returncode == 0, done.stderr
    labels = pd.read_csv(io.StringIO(done.stdout))
    assert labels["row"].tolist() == list(range(90))
    assert labels["cluster"].nunique() == 3
    assert "3 clusters of 90 samples." in done.stderr


def test_files_as_views_matched_by_name(folder, command, blobs, tmp_path):
    done = command(
        "cluster", folder / "size.csv", folder / "mass.csv", "-k", 3, "--id", "name",
        "-o", tmp_path / "labels.parquet", "--model", tmp_path / "m.unispectral", check=0,
    )  # fmt: skip
    assert "View 'mass' lacks 4 of 90 rows." in done.stderr
    labels = pd.read_parquet(tmp_path / "labels.parquet")
    assert labels["id"].tolist() == blobs["name"].tolist()
    assert adjusted_rand_score(labels["cluster"], blobs["kind"]) > 0.95
    done = command(
        "predict", tmp_path / "m.unispectral", folder / "things.csv", "--truth", "kind", "--json",
        check=0,
    )  # fmt: skip
    assert json.loads(done.stdout)["scores"]["accuracy"] > 0.95


def test_column_groups_as_views_and_the_number_chosen(folder, command):
    done = command(
        "cluster", folder / "things.csv", "-k", "auto", "--id", "name", "--truth", "kind",
        "--view", "size=width,height", "--view", "mass=dep*,weight", "--json", "-q", check=0,
    )  # fmt: skip
    assert done.stderr == ""
    summary = json.loads(done.stdout)
    assert summary["n_clusters"] == 3
    assert summary["scores"]["accuracy"] == 1.0


def test_missing_values_are_an_error_with_a_remedy(folder, command, tmp_path):
    kept = tmp_path / "labels.csv"
    kept.write_text("what was here before\n")
    asked = ["cluster", folder / "gaps.csv", "-k", 3, "--id", "name", "-o", kept]
    done = command(*asked, "--missing", "refuse", check=1)
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert "'width' (2), 'weight' (1)" in done.stderr
    assert "--missing" in done.stderr
    assert kept.read_text() == "what was here before\n"
    command(*asked, check=0)
    assert len(pd.read_csv(kept)) == 90


def test_compare(folder, command, tmp_path):
    done = command(
        "compare", folder / "things.csv", "-k", 3, "--id", "name", "--truth", "kind",
        "--methods", "Unified,kkm,kmeans", "-o", tmp_path / "scores.csv", check=0,
    )  # fmt: skip
    assert "All 3 methods found the same clusters." in done.stdout
    assert "Agreement" not in done.stdout
    scores = pd.read_csv(tmp_path / "scores.csv").set_index("method")
    assert scores.index.tolist() == ["unified", "KKM", "kmeans"]
    assert scores.loc["kmeans", "accuracy"] == 1.0


def test_data(command, data_home, tmp_path):
    assert "yale" in command("data", "list", check=0).stdout
    done = command("data", "fetch", "yale", "-o", tmp_path / "yale.mat", check=0)
    assert "165 rows" in done.stdout
    content = read_mat(tmp_path / "yale.mat")
    assert content["data"].shape == (165, 1024)
    assert len(np.unique(content["target"])) == 15


def test_demo(command, tmp_path):
    done = command("demo", "--folder", tmp_path / "demo", check=0)
    for word in (
        "3 clusters of 178 samples",
        "iterations",
        "NMI",
        "purity",
        "Why 3:",
        "report.html",
    ):
        assert word in done.stdout
    labels = pd.read_csv(tmp_path / "demo" / "labels.csv")
    assert len(labels) == 178
    assert float(re.search(r"accuracy (\d\.\d+)", done.stdout)[1]) > 0.9
    assert len(pd.read_csv(tmp_path / "demo" / "wines.csv")) == 178
    assert (tmp_path / "demo" / "report.html").stat().st_size > 100_000


def test_info_names_nobody(command):
    found = json.loads(command("info", check=0).stdout)
    assert found["packages"]["numpy"] == np.__version__
    assert found["threads"] >= 1
    text = json.dumps(found)
    assert str(Path.home()) not in text
    assert os.getcwd() not in text


@pytest.mark.parametrize("arguments", ["data list", "info"])
def test_broken_pipe_is_quiet_and_no_success(arguments):
    program = Path(sys.executable).with_name("unispectral")
    with subprocess.Popen(
        [program, *arguments.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
@pytest.mark.parametrize("arguments", ["data list", "info"])
def test_a_full_standard_output_is_told(arguments):
    program = Path(sys.executable).with_name("unispectral")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [program, *arguments.split()], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "Error: Reading or writing failed: no space left on device.\n"


@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "1>&- 2>&-"])
@pytest.mark.parametrize(
    "arguments",
    [
        "data list",
        pytest.param("info", marks=pytest.mark.slow),
        "--help",
        "cluster T -k 3 -o labels.csv",
    ],
)
def test_closed_streams_are_no_error(arguments, closed, folder, tmp_path):
    arguments = arguments.replace("T", f"{folder / 'things.csv'} --method kmeans")
    program = Path(sys.executable).with_name("unispectral")
    done = subprocess.run(
        f"{program} {arguments} {closed}", shell=True, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "labels.csv").exists() == ("labels.csv" in arguments)


@pytest.mark.parametrize(("option", "remedy"), [("-o -", "name a file"), ("--json", "open it")])
def test_results_for_a_closed_standard_output_are_refused(option, remedy, folder, tmp_path):
    program = Path(sys.executable).with_name("unispectral")
    command = f"{program} cluster {folder / 'things.csv'} -k 3 {option} 1>&-"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert f"{option}: standard output is closed; {remedy}." in done.stderr


def test_the_package_can_be_run():
    done = subprocess.run(
        [sys.executable, "-m", "unispectral", "--version"], capture_output=True, text=True
    )
    assert done.stdout.startswith("unispectral, version ")


def test_scaling_and_the_number_of_clusters_are_explained(command, tmp_path):
    from sklearn.datasets import load_wine

    table = tmp_path / "wine.csv"
    load_wine(as_frame=True).data.to_csv(table, index=False)
    shown = command("cluster", table, "-k", "auto", check=0).stdout
    assert "Why 3: 3 clusters stand out most, by the modularity of the graph" in shown
    assert "standardised: 1 of 13 columns has nearly all of the variance" in shown
    given = command("cluster", table, "-k", "3", "--scale", "standard", check=0).stdout
    assert "standardised" not in given

"""What a study file may say, and what it is told when it says something else."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans

from unispectral.bench import Study, StudyDataset, StudyMethod
from unispectral.bench._fields import parse_size
from unispectral.bench._worker import check_method, estimator_class

TOML = """
name = "mine"
kernels = ["linear", "gaussian_1"]
metrics = ["nmi"]
seed = 7
memory_limit = "2GB"

[[dataset]]
name = "table"
file = "table.csv"
truth = "species"

[[method]]
name = "k-means"
estimator = "sklearn.cluster.KMeans"
grid = { n_init = [1, 2], max_iter = [5, 10, 20] }
repeats = 2
columns = [{ name = "k-means", protocols = ["paper"] }]

[[method.reduced]]
datasets = ["table"]
repeats = 1
reason = "to be quick"

[[method]]
name = "SC"
estimator = "sklearn.cluster.SpectralClustering"
input = "kernel"
kernel_parameter = "affinity"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "table.csv").write_text("x,species\n1,a\n2,b\n")
    (tmp_path / "study.toml").write_text(TOML)
    return tmp_path / "study.toml"


def test_toml_becomes_cells_in_order(file: Path) -> None:
    study = Study.load(file)
    cells = study.cells()
    assert [cell.method.name for cell in cells] == ["k-means"] * 6 + ["SC"] * 2
    assert [cell.kernel for cell in cells[-2:]] == ["linear", "gaussian_1"]
    assert cells[0].parameters == {"n_init": 1, "max_iter": 5}
    assert {cell.seed for cell in cells} == {7}
    assert [cell.repeat for cell in cells[:6]] == [0] * 6
    assert cells[0].memory_limit == 2 * 2**30
    assert cells[0].dataset.file == str(file.parent / "table.csv")
    assert len({cell.key for cell in cells}) == len(cells)


def test_content_of_a_file_is_part_of_its_cells(file: Path) -> None:
    before = Study.load(file).cells()[0].key
    assert Study.load(file).cells()[0].key == before
    (file.parent / "table.csv").write_text("x,species\n1,a\n3,b\n")
    assert Study.load(file).cells()[0].key != before


def test_names_and_limits_are_not_part_of_a_cell() -> None:
    method = StudyMethod("a", "sklearn.cluster.KMeans")
    one = Study("one", ["iris"], [method], time_limit=1.0).cells()[0]
    two = Study("two", ["iris"], [replace(method, name="b")], time_limit=2.0).cells()[0]
    assert one.key == two.key
    other = Study("one", ["iris"], [replace(method, parameters={"n_init": 3})]).cells()[0]
    assert one.key != other.key


def test_json_and_back(file: Path) -> None:
    for study in (Study.load(file), *map(Study.load, Study.builtin())):
        again = Study.from_table(json.loads(json.dumps(asdict(study))))
        assert [cell.key for cell in again.cells()] == [cell.key for cell in study.cells()]
        assert asdict(again) == asdict(study)


def test_builtin_studies_name_estimators_that_have_their_parameters() -> None:
    for name in Study.builtin():
        for method in Study.load(name).methods:
            check_method(method)


def test_paper_study_has_the_papers_columns() -> None:
    from unispectral.bench.results import paper_figure, paper_table

    columns = paper_table()["columns"]
    study = Study.load("paper")
    shown = [c for m in study.methods for c in m.columns if "paper" in c.protocols]
    assert [c.name for c in shown if c.name in columns] == columns
    # What the paper does not have is another reading of its own two models.
    for column in shown:
        assert column.name in columns or column.name.startswith(("SCSK (", "SCMK ("))
    for dataset in study.datasets:
        assert paper_figure("accuracy", dataset.title, "KKM") is not None


def test_paper_study_runs_the_declared_grids() -> None:
    """On YALE 40 or 48 points of the ALM and 16 of the exact solver, on both banks."""
    cells = Study.load("paper").cells()
    count = Counter((cell.dataset.name, cell.method.name) for cell in cells)
    assert count["yale", "SCSK"] == 24 * 40 * 3
    assert count["yale", "SCMK"] == 2 * 48 * 3
    assert count["jaffe", "SCSK"] == 12 * 15 * 3
    for name in ("yale", "jaffe", "orl", "tr11"):
        assert count[name, "SCSK (exact)"] == 24 * 4
        assert count[name, "SCSK (exact + ridge)"] == 24 * 12
        assert count[name, "SCMK"] >= 2 * 12 * 3
        assert count[name, "SCMK (exact)"] == 2 * 4
        assert count[name, "SCMK (exact + ridge)"] == 2 * 12
    for name in ("SCSK (default)", "SCMK (default)"):
        assert count["yale", name] == 1
    ours = [
        cell
        for cell in cells
        if cell.method.name.startswith(("SCSK", "SCMK")) and "(default)" not in cell.method.name
    ]
    assert {(c.bank["kernels"], c.bank["normalize"]) for c in ours} == {
        ("paper", "cosine"),
        ("paper-text", "max"),
    }
    for cell in ours:
        full = 3 if cell.method.parameters["solver"] == "alm" else 1
        assert cell.method.repeats == (1 if cell.dataset.name == "tdt2" else full)
        assert cell.parameters["gamma"] <= 1e-3 * cell.parameters["beta"]
    # Every method has at least one cell on TDT2, where the paper itself gave up on some.
    dense = {"AASC (default)", "RMKKM (default)", "RMKKM"}
    dense |= {"SCSK (exact + ridge)", "SCMK (exact + ridge)", "SCSK (default)", "SCMK (default)"}
    for method in Study.load("paper").methods:
        assert count["tdt2", method.name] or method.name in dense


def test_the_parameter_figure_is_the_papers_algorithm_at_a_stated_penalty() -> None:
    study = Study.load("parameters")
    (method,) = study.methods
    assert method.parameters["solver"] == "alm"
    assert str(int(method.parameters["mu"])) in study.about
    assert len(study.cells()) == 6 * 6 * 3


def test_a_method_may_bring_its_own_banks() -> None:
    banks = {"paper": "cosine", "paper-text": "max"}
    one = StudyMethod("one", "unispectral.SCSK", input="kernel", banks=banks)
    all_of = StudyMethod("all", "unispectral.SCMK", input="kernels", banks=banks)
    cells = Study("mine", ["iris"], [one, all_of], kernels=["linear"]).cells()
    assert len(cells) == 24 + 2
    assert [c.bank_name for c in cells] == ["paper"] * 12 + ["paper-text"] * 12 + [*banks]
    assert len({cell.key for cell in cells}) == len({cell.setting for cell in cells[:24]}) + 2
    some = replace(one, kernels=("linear", "gaussian_1"))
    cells = Study("mine", ["iris"], [some]).cells()
    assert [(c.kernel, c.bank_name) for c in cells] == [
        ("gaussian_1", "paper"),
        ("linear", "paper"),
        ("linear", "paper-text"),
    ]


def test_published_figures_are_those_of_the_reference(reference: Path) -> None:
    from unispectral.bench.results import paper_figure

    table = json.loads((reference / "paper_table.json").read_text())
    for title, metric in (("Accuracy", "accuracy"), ("NMI", "nmi"), ("Purity", "purity")):
        for dataset, row in table[title].items():
            for column, value in row.items():
                assert paper_figure(metric, dataset, column) == value


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("seed = 7", "sed = 7"), "the study 'mine' has the unknown key 'sed'"),
        (("[[dataset]]", "[[data]]"), "unknown key 'data'"),
        (('metrics = ["nmi"]', 'metrics = ["nim"]'), "metrics='nim'"),
        (("repeats = 2", "repeats = 0"), "the method 'k-means': repeats=0"),
        (('protocols = ["paper"]', 'protocols = ["papier"]'), "papier"),
        (('reason = "to be quick"', 'reason = " "'), "reason"),
        (('input = "kernel"', 'input = "kernal"'), "kernal"),
        (("n_init = [1, 2]", "n_init = []"), "n_init"),
        (('"2GB"', '"much"'), "much"),
        (('name = "SC"', 'name = "k-means"'), "twice"),
        (('name = "mine"', "name = 5"), "name=5"),
        (('file = "table.csv"', "file = 5"), "file=5"),
        (("repeats = 2", "repeats = true"), "repeats=True"),
        (('name = "mine"', 'name = "mine'), "TOML"),
        (("[[dataset]]", "[[datasets]]"), "head each dataset with [[dataset]]"),
        (("[[method]]", "[[methods]]"), "head each method with [[method]]"),
        (("repeats = 1", "repeats = 0"), "repeats=0"),
        (("repeats = 1", "repeat = 1"), "reduced='repeat' is unknown"),
        (('datasets = ["table"]', "skip = true"), "reduced lacks 'datasets'"),
        (("seed = 7", "time_limit = 0"), "time_limit=0 must be above 0"),
    ],
)
def test_mistakes_are_named(file: Path, change: tuple[str, str], words: str) -> None:
    text = TOML.replace(*change)
    assert text != TOML
    file.write_text(text)
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        Study.load(file)


def test_unknown_study_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="paper, parameters, peers, small"):
        Study.load("nonesuch")


def test_the_peers_keep_defaults_and_tuned_results_apart() -> None:
    study = Study.load("peers")
    assert len(study.datasets) == 9
    for method in study.methods:
        check_method(method)
        (column,) = method.columns
        defaults = not method.grid and not method.parameters
        assert column.protocols == (("label-free",) if defaults else ("tuned",))
    shown = {p: {m.columns[0].name for m in study.methods if p in m.columns[0].protocols}
             for p in ("tuned", "label-free")}  # fmt: skip
    # SimpleMKKM has nothing to tune, and neither has the label-free model.
    assert shown["label-free"] - shown["tuned"] == {"SimpleMKKM", "UnifiedSpectralClustering"}
    assert shown["tuned"] < shown["label-free"]


def test_unknown_kernel_is_named() -> None:
    method = StudyMethod("m", "sklearn.cluster.KMeans", input="kernel", kernels=("nonesuch",))
    with pytest.raises(ValueError, match="nonesuch"):
        Study("s", ["iris"], [method]).cells()


def test_missing_file_is_named(tmp_path: Path) -> None:
    missing = StudyDataset("mine", file=str(tmp_path / "no.csv"))
    with pytest.raises(ValueError, match=r"no\.csv"):
        Study("s", [missing], [StudyMethod("m", "sklearn.cluster.KMeans")]).cells()


@pytest.mark.parametrize(
    "name",
    [
        "KMeans",
        "os.system",
        "sklearn.cluster",
        "__import__('os').system",
        "sklearn.cluster.KMeans()",
        "no_such_package.Thing",
        "sklearn.metrics.pairwise.euclidean_distances",
        "builtins.object",
    ],
)
def test_only_estimator_classes_are_imported(name: str) -> None:
    with pytest.raises(ValueError, match="estimator="):
        estimator_class(name)


def test_unknown_parameter_is_refused_before_the_run() -> None:
    with pytest.raises(ValueError, match="'n_clustres'"):
        check_method(StudyMethod("m", "sklearn.cluster.KMeans", parameters={"n_clustres": 2}))


def test_an_estimator_is_given_by_its_name() -> None:
    with pytest.raises(ValueError, match="estimator=KMeans"):
        StudyMethod("m", KMeans())  # type: ignore[arg-type]


def test_parameters_must_be_storable() -> None:
    with pytest.raises(TypeError, match="stored"):
        StudyMethod("m", "sklearn.cluster.KMeans", parameters={"init": np.ones((2, 2))})
    with pytest.raises(TypeError, match="stored"):
        StudyMethod("m", "sklearn.cluster.KMeans", parameters={"tol": float("nan")})


def test_reductions_change_only_their_data_sets() -> None:
    reduction = {"datasets": ["iris"], "reason": "slow", "repeats": 1, "parameters": {"n_init": 1}}
    method = StudyMethod("m", "sklearn.cluster.KMeans", repeats=5, reduced=(reduction,))
    assert method.on("wine") == (method, None)
    local, why = method.on("iris")
    assert (local.repeats, local.parameters, why) == (1, {"n_init": 1}, reduction)


def test_skipped_cells_do_not_exist() -> None:
    skipped = {"datasets": ["iris"], "reason": "slow", "skip": True}
    method = StudyMethod("m", "sklearn.cluster.KMeans", reduced=(skipped,))
    cells = Study("s", ["iris", "wine"], [method]).cells()
    assert [cell.dataset.name for cell in cells] == ["wine"]


def test_select_is_case_blind_and_says_what_there_is() -> None:
    study = Study.load("small")
    assert [d.title for d in study.select(["YALE", "Tr11"]).datasets] == ["YALE", "TR11"]
    with pytest.raises(ValueError, match="no 'mars'; it has yale"):
        study.select(["mars"])


def test_sizes() -> None:
    assert parse_size("500MB") == 500 * 2**20
    assert parse_size("1.5 gb") == 1.5 * 2**30
    assert parse_size(12) == 12.0
    assert parse_size(None) is None
    for wrong in ("", "GB", "1..2GB", "-1GB", 0, True):
        with pytest.raises(ValueError, match="not a size"):
            parse_size(wrong)

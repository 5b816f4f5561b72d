"""The record of the study ``paper``: packed, unpacked, and parts of it forgotten."""

from __future__ import annotations

from benchmarks import paper, paper_models

from unispectral.bench import Results, Store, Study, StudyMethod


def test_a_record_comes_back_and_a_method_can_be_forgotten(tmp_path):
    methods = [
        StudyMethod("one", "sklearn.cluster.KMeans"),
        StudyMethod("two", "sklearn.cluster.KMeans", parameters={"n_init": 2}),
    ]
    study = Study("s", ["iris", "wine"], methods)
    record, packed = tmp_path / "r.jsonl", tmp_path / "r.jsonl.xz"
    with Store(record) as store:
        for cell in study.cells():
            store.put(cell, {"status": "done", "scores": {"ari": 0.5}, "seconds": 0.5})
        store.save_study(study, "words")
    before = record.read_bytes()
    paper.pack(record, packed)
    assert not record.exists()
    paper.unpack(packed, record)
    assert record.read_bytes() == before
    assert paper.forget(record, ["two"]) == 2
    with Store(record, readonly=True) as store:
        assert {entry.job["method"] for entry in store.records().values()} == {"one"}
        assert store.studies() == ["s"]


def test_a_run_that_was_stopped_is_not_overwritten(tmp_path):
    record, packed = tmp_path / "r.jsonl", tmp_path / "r.jsonl.xz"
    record.write_bytes(b"old")
    paper.pack(record, packed)
    record.write_bytes(b"newer")
    paper.unpack(packed, record)
    assert record.read_bytes() == b"newer"


def test_fits_that_two_studies_have_are_taken_from_the_first(tmp_path):
    other = StudyMethod("another name", "sklearn.cluster.KMeans")
    first = Study("first", ["iris"], [StudyMethod("one", "sklearn.cluster.KMeans")])
    second = Study("second", ["iris", "wine"], [other])
    record, packed = tmp_path / "first.jsonl", tmp_path / "first.jsonl.xz"
    with Store(record) as store:
        for cell in first.cells():
            store.put(cell, {"status": "done", "scores": {"ari": 0.5}, "seconds": 0.5})
    paper.pack(record, packed)
    assert paper.share(packed, tmp_path / "second.jsonl", second) == 1
    with Store(tmp_path / "second.jsonl", readonly=True) as store:
        assert [cell.key in store.records() for cell in second.cells()] == [True, False]
    assert paper.share(packed, tmp_path / "second.jsonl", second) == 0


def test_the_models_beside_the_paper(tmp_path):
    """Below the paper where the accuracy is, and the weights of the point that is shown."""
    names = [m + kind for m in ("SCSK", "SCMK") for kind in ("", " (exact)", " (exact + ridge)")]
    study = Study.load("paper").select(["orl"], names)
    weights = {"weights": [0.0] * 6 + [3.0] + [0.0] * 4 + [1.0]}
    with Store(tmp_path / "r.jsonl") as store:
        for cell in study.cells():
            below = cell.method.name == "SCMK"
            accuracy = 0.9 if not below else 0.70 - 0.1 * (cell.bank_name == "paper-text")
            scores = dict.fromkeys(study.metrics, accuracy)
            store.put(
                cell, {"status": "done", "scores": scores, "facts": weights if below else {}}
            )
        page = paper_models.render(Results(study, store), "words")
    assert "the mean of the starts on 0 of 1 (below: ORL -4.5)" in page
    assert "the mean of the starts on 1 of 1;" in page
    assert "| ORL | gaussian_100 | 0.75 | 0.75 |" in page
    assert "| ORL | 74.52 | 70.00 | 70.00 | 90.00 | 90.00 | 96 of 96 |" in page

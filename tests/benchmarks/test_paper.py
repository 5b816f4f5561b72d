"""The record of the study ``paper``: packed, unpacked, and parts of it forgotten."""

from __future__ import annotations

from benchmarks import paper

from unispectral.bench import Store, Study, StudyMethod


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

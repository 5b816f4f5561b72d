"""Saved models of changed meaning: a result or one sentence, never a crash or a hang."""

from __future__ import annotations

import io
import json
import zipfile
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from robustness import _estimators, model_fuzz
from robustness.__main__ import replay
from robustness.model_fuzz import MUTATORS, Archive, FuzzCase

from unispectral.persistence import ModelFileError, load_model

FORM = _estimators.DEFAULT


@pytest.mark.timeout(900)
def test_changed_models(thorough):
    n_cases = 2_000 if thorough else 500
    result = model_fuzz.run(islice(model_fuzz.cases(1), n_cases), seed=1)
    assert result.failures == []
    assert result.n_cases == n_cases
    assert min(result.outcomes["works"], result.outcomes["refused"]) > n_cases // 10


@pytest.mark.parametrize("form", model_fuzz._forms())
def test_the_forms_are_valid_models(form, tmp_path):
    path = tmp_path / "model.npz"
    path.write_bytes(model_fuzz.valid(form))
    estimator, X = model_fuzz._forms()[form]()
    model = load_model(path)
    assert type(model) is type(estimator)
    labels = model[-1].labels_ if hasattr(model, "steps") else model.labels_
    assert len(model.predict(X)) == len(labels)


@pytest.mark.parametrize("name", MUTATORS)
def test_every_change_changes_something(name):
    whole = Archive(model_fuzz.valid(FORM)).pack()
    changed = 0
    for seed in range(60):
        archive = Archive(model_fuzz.valid(FORM))
        MUTATORS[name](archive, np.random.default_rng(seed))
        archive.declare()
        changed += archive.pack() != whole
    assert changed > 5


def test_a_case_can_be_replayed(capsys):
    case = FuzzCase("SCSK", 3)
    assert model_fuzz.mutated(case) == model_fuzz.mutated(case)
    code = replay(f"{case}: whatever was said")
    assert capsys.readouterr().out.startswith(("works", "refused") if code == 0 else "failed")


def _with_member(content: bytes, name: str, value: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w") as new:
        for member in old.namelist():
            new.writestr(member, value if member == name else old.read(member))
    return packed.getvalue()


def test_a_wrong_number_of_features_is_refused(tmp_path):
    """It once ended in a segmentation fault: rows of 60 features met samples of 50."""
    from unispectral import UnifiedSpectralClustering
    from unispectral.persistence import save_model

    X = sp.random(60, 50, 0.2, "csr", random_state=0)
    path = tmp_path / "model.npz"
    save_model(UnifiedSpectralClustering(3).fit(X), path)
    archive = Archive(path.read_bytes())
    (tree,) = archive.trees
    text = json.dumps(archive.trees[tree]).replace('"n_features_in_": 50', '"n_features_in_": 60')
    path.write_bytes(_with_member(path.read_bytes(), tree, text.encode()))
    with pytest.raises(ModelFileError, match="features"):
        load_model(path)

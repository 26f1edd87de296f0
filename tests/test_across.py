import json
import shutil

import numpy as np
import pytest

from attar.errors import RecipeError
from attar.evaluate import across
from attar.run import evaluate_across


def test_other_models_are_trained_on_the_table_and_on_real_patients(finished, small_cohort, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    found = evaluate_across(small_cohort, run, ["mlp", "logistic"])
    assert found == json.loads((run / "models.json").read_text())
    assert list(found["models"]) == ["mlp", "logistic"]
    for arms in found["models"].values():
        assert list(arms) == ["full", "random", "condensed"]
        assert arms["condensed"]["rows"] == arms["random"]["rows"] == 20
        assert arms["full"]["auroc"]["mean"] > 0.7 > 0.5 < arms["condensed"]["auroc"]["mean"]
    own = json.loads((run / "scores.json").read_text())["arms"]
    assert all(found["models"]["mlp"][name]["auprc"] == own[name]["auprc"] for name in ("full", "random", "condensed"))
    assert len(found["models"]["logistic"]["random"]["auprc"]["values"]) == across.REPEATS


def test_a_label_that_all_patients_share_is_predicted_as_it_is():
    x, y = np.arange(6.0)[:, None], np.array([[0, 1], [0, 0]] * 3)
    found = across._probabilities(across.LEARNERS["logistic"], 0, x, y, x)
    assert (found[:, 0] == 0).all()
    assert len(np.unique(found[:, 1])) == 6


def test_a_model_that_is_not_there_is_named(finished, small_cohort, monkeypatch):
    with pytest.raises(RecipeError, match=r"no model 'logistik'.*'logistic'"):
        evaluate_across(small_cohort, finished, ["logistik"])
    monkeypatch.setattr(across, "find_spec", lambda name: None)
    with pytest.raises(RecipeError, match=r"attar\[trees\]"):
        across.check(["mlp", "lightgbm"])

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

import attar
from attar import Cohort, Condenser
from conftest import QUICK

SETTINGS = {key: value for key, value in QUICK.items() if key != "per_class"}


def test_parameters_follow_scikit_learn():
    condenser = Condenser(per_class=7, settings=SETTINGS)
    assert condenser.get_params()["per_class"] == 7
    assert clone(condenser).get_params() == condenser.get_params()
    assert condenser.set_params(seed=3).seed == 3
    with pytest.raises(ValueError, match="Invalid parameter"):
        condenser.set_params(colour="red")


def test_a_cohort_in_a_table_out_that_any_library_trains_on(small_cohort, small_frame, tmp_path):
    condenser = Condenser(per_class=10, settings=SETTINGS, out=tmp_path / "run").fit(small_cohort)
    table = condenser.condensed_.frame()
    assert condenser.scores_["arms"]["condensed"]["rows"] == len(table) == 20
    numbers = [column for column in table if table[column].dtype != "str" and column != "hospdead"]
    forest = RandomForestClassifier(200, random_state=0).fit(table[numbers], table["hospdead"])
    real = small_frame[numbers].fillna(small_frame[numbers].median())
    assert roc_auc_score(small_frame["hospdead"], forest.predict_proba(real)[:, 1]) > 0.6
    again = attar.load(tmp_path / "run")
    pd.testing.assert_frame_equal(again.frame(), table)


def test_arrays_and_frames_are_taken_too(rng):
    y = rng.random(300) < 0.4
    x = rng.normal(size=(300, 3)) + y[:, None]
    condenser = Condenser(per_class=10, settings=SETTINGS).fit(x, y)
    assert list(condenser.condensed_.frame()) == ["x0", "x1", "x2", "y"]
    assert condenser.condensed_.frame()["y"].dtype == bool
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    outcome = pd.Series(np.where(y, "ill", "well"), name="state")
    cohort = Cohort.from_arrays(frame, outcome)
    assert [target.name for target in cohort.schema.targets] == ["state"]


def test_public_names_are_all_there():
    for name in attar.__all__:
        assert getattr(attar, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        attar.nonsense  # noqa: B018

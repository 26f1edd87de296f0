import numpy as np

from attar import pilot, recipe, teach
from attar.models.mlp import MLP
from attar.prepare import prepare
from conftest import QUICK


def settings(**changes):
    changed = {f"teachers.{key}": value for key, value in changes.items()}
    return recipe.load("default", {**QUICK, "teachers.pilots": 2, **changed}).teachers


def find(cohort, **changes):
    data = prepare(cohort, cohort.split(0))
    task = teach.task(data.x_train, data.y_train, "aligned", np.array([0.5]))
    seen = []
    model = MLP(data.x_train.shape[1], 1, 16, 0.25)
    return pilot.find_epochs(model, task, data, settings(**changes), 0, seen.append), seen


def test_slow_teachers_are_given_longer_than_fast_ones(small_cohort):
    slow, seen_slow = find(small_cohort, step_size=0.001, longest=40)
    fast, seen_fast = find(small_cohort, step_size=0.3, longest=40)
    assert fast < slow <= 40
    assert seen_fast[-1] < seen_slow[-1] == 40, "networks that no longer get better end early"


def test_epochs_stay_within_the_range_of_the_recipe(small_cohort):
    assert find(small_cohort, epochs=3, longest=3) == (3, [1, 2, 3])
    assert find(small_cohort, step_size=0.3, epochs=30, longest=40)[0] >= 30


def test_scores_are_smoothed_backwards():
    scores = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    expected = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0]
    np.testing.assert_allclose(pilot.smoothed(scores, 5), expected)
    assert pilot.smoothed([0.5], 5).tolist() == [0.5]
    assert pilot.smoothed(scores, 1).tolist() == scores


def test_patience_is_in_proportion_to_the_longest_training(small_cohort):
    _, short = find(small_cohort, step_size=0.3, longest=24)
    _, long = find(small_cohort, step_size=0.3, longest=120)
    assert short[-1] < long[-1] < 120

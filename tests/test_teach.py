import jax.numpy as jnp
import numpy as np
import pytest

from attar import recipe, teach
from attar.evaluate.utility import measure
from attar.models.mlp import MLP
from attar.prepare import prepare


@pytest.fixture(scope="module")
def data(small_cohort):
    return prepare(small_cohort, small_cohort.split(0))


@pytest.fixture
def model(data):
    return MLP(data.x_train.shape[1], 1, 16, 0.25)


def settings(**changes):
    return recipe.load(
        "default", {f"teachers.{key}": value for key, value in {"count": 4, "epochs": 6, **changes}.items()}
    )


def test_points_are_start_and_end_or_every_epoch(data, model):
    task = teach.task(data.x_train, data.y_train, "aligned", np.array([0.5]))
    two = teach.teach(model, task, settings().teachers, 0)
    every = teach.teach(model, task, settings().teachers, 0, every_epoch=True)
    assert two.points.shape == (4, 2, model.size)
    assert every.points.shape == (4, 7, model.size)
    np.testing.assert_array_equal(two.ends, every.ends)
    np.testing.assert_array_equal(two.starts, teach.starts(model, 0, 4))
    steps = np.linalg.norm(np.diff(every.points, axis=1), axis=2)
    assert (steps > 0).all(), "every stored epoch is a copy of its own, not a view of the last"


def test_teachers_learn_the_real_outcome(data, model):
    task = teach.task(data.x_train, data.y_train, "aligned", np.array([0.5]))
    teachers = teach.teach(model, task, settings(epochs=30).teachers, 0)
    test = jnp.asarray(data.x_test), jnp.asarray(data.y_test)
    before = measure(model, jnp.asarray(teachers.starts), task.x, *test)["auroc"]
    after = measure(model, jnp.asarray(teachers.ends), task.x, *test)["auroc"]
    assert after.min() > 0.65 > 0.6 > before.mean()


def test_interrupted_teaching_ends_with_the_same_bytes(data, model, monkeypatch):
    monkeypatch.setattr(teach, "MEMORY", 2 * 16 * 256 * 16)
    task = teach.task(data.x_train, data.y_train, "aligned", np.array([0.5]))
    assert len(teach.groups(model, settings().teachers)) == 2
    seen = []
    whole = teach.teach(
        model, task, settings().teachers, 0, watch=lambda p: seen.append(p._replace(points=p.points.copy()))
    )
    assert len(seen) == 12
    for stop in (0, 5, 8):
        again = teach.teach(model, task, settings().teachers, 0, resume=seen[stop])
        np.testing.assert_array_equal(again.points, whole.points)


def test_alignment_takes_the_prior_out_of_the_logits(data, model):
    """An aligned teacher judges as if classes were balanced; adding the offset gives the cohort's prevalence."""
    y = data.y_train
    task = teach.task(data.x_train, y, "aligned", np.array([0.5]))
    expected = np.log(y.mean() / (1 - y.mean()))
    assert float(task.offset[0]) == pytest.approx(expected, abs=1e-5)
    teachers = teach.teach(model, task, settings(epochs=30).teachers, 0)
    risks = [1 / (1 + np.exp(-(model.apply(jnp.asarray(end), task.x) + task.offset))) for end in teachers.ends]
    assert np.mean(risks) == pytest.approx(y.mean(), abs=0.04)
    plain = [1 / (1 + np.exp(-model.apply(jnp.asarray(end), task.x))) for end in teachers.ends]
    assert np.mean(plain) > y.mean() + 0.1


def test_weights_balance_the_classes_and_none_leaves_the_loss_alone(data):
    weighted = teach.task(data.x_train, data.y_train, "weighted", np.array([0.5]))
    positives = data.y_train[:, 0] == 1
    assert float(weighted.weights[positives].sum()) == pytest.approx(
        float(weighted.weights[~positives].sum()), rel=1e-4
    )
    assert not weighted.offset.any()
    none = teach.task(data.x_train, data.y_train, "none", np.array([0.5]))
    assert none.weights is None
    assert not none.offset.any()

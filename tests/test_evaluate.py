import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attar import recipe, train
from attar.evaluate import arms, utility
from attar.models.mlp import MLP
from attar.prepare import prepare
from conftest import QUICK


@pytest.fixture(scope="module")
def data(small_cohort):
    arrays = prepare(small_cohort, small_cohort.split(0))
    return {name: jnp.asarray(getattr(arrays, name)) for name in ("x_train", "y_train", "x_validation", "y_validation")}


@pytest.fixture
def model(data):
    return MLP(data["x_train"].shape[1], 1, 16, 0.25)


def test_a_small_set_is_seen_whole_in_every_step_with_weight_decay(data, model):
    settings = recipe.load("default", {**QUICK, "evaluate.epochs": 3, "evaluate.batch": 8}).evaluate
    x, y = data["x_train"][:50], data["y_train"][:50]
    key, theta = jax.random.key(0), train.fresh(model, jax.random.key(1), 2)
    fit, task = train.begin(theta), train.Task(x, y, jnp.zeros(1))
    for step_key in jax.random.split(key, 3):
        decay = settings.weight_decay
        fit = train.epoch(model, fit, task, step_key, settings.step_size, settings.momentum, 50, weight_decay=decay)

    assert settings.weight_decay > 0
    np.testing.assert_allclose(utility.fit_small(model, theta, x, y, key, settings), fit.theta, rtol=1e-5, atol=1e-6)


def test_full_networks_are_kept_at_their_best_validation_epoch(data, model):
    settings = recipe.load("default", {**QUICK, "evaluate.epochs": 40}).evaluate
    key, theta = jax.random.key(0), train.fresh(model, jax.random.key(1), 3)
    x, y, *validation = data.values()
    task = train.Task(x, y, jnp.zeros(1))
    seen = []
    best, scores = utility.fit_full(model, theta, task, *validation, key, settings, seen.append)
    kept = utility.measure(model, best, data["x_train"], data["x_validation"], data["y_validation"])["auprc"][:, 0]

    np.testing.assert_allclose(kept, scores, rtol=1e-6)

    fit, curve = train.begin(theta), []
    for epoch in range(seen[-1]):
        step_key = jax.random.fold_in(key, epoch)
        fit = train.epoch(model, fit, task, step_key, settings.step_size, settings.momentum, settings.batch)
        curve.append(
            utility.measure(model, fit.theta, data["x_train"], data["x_validation"], data["y_validation"])["auprc"][
                :, 0
            ]
        )
    np.testing.assert_allclose(kept, np.max(curve, axis=0), rtol=1e-6)
    assert (utility.patience(40), utility.patience(100)) == (6, 15)
    assert seen[-1] == min(40, np.argmax(curve, axis=0).max() + 1 + 6), "it ends when none got better for a while"


def test_scorer_scores_many_versions_as_it_scores_one(data, model):
    settings = recipe.load("default", QUICK).selection
    key = jax.random.key(0)
    validation = (np.asarray(data[name]) for name in ("x_validation", "y_validation"))
    scorer = utility.Scorer.of(train.fresh(model, key, 2), key, *validation, 10)
    versions = jnp.stack([data["x_train"][start : start + 30] for start in (0, 100, 200)])
    labels = jnp.broadcast_to(jnp.asarray((np.arange(30) % 2)[:, None], jnp.float32), (3, 30, 1))
    together = scorer.score(model, versions, labels, settings)
    alone = [scorer.score(model, version[None], labels[:1], settings)[0] for version in versions]
    np.testing.assert_allclose(together, alone, rtol=1e-5)
    assert len(set(np.asarray(together[:, 0]).tolist())) == 3


def test_rows_that_fill_up_do_not_change_a_score(data, model):
    settings, key = recipe.load("default", QUICK).selection, jax.random.key(0)
    x, y = (np.asarray(data[name]) for name in ("x_validation", "y_validation"))
    theta, inputs, labels = train.fresh(model, key, 2), data["x_train"][:40], data["y_train"][:40]
    scorer = utility.Scorer.of(theta, key, x, y, 10)
    assert len(scorer.x) % utility.ROUND == 0
    fitted = utility.fit_small(model, theta, inputs, labels, key, settings)
    found = scorer.score(model, inputs[None], labels[None], settings)[0]
    for rows, score in zip([np.arange(len(x)), *utility.left_out(y, 10)], found, strict=True):
        plain = utility.measure(model, fitted, inputs, jnp.asarray(x[rows]), jnp.asarray(y[rows]))["auprc"]
        np.testing.assert_allclose(score, plain.mean(), rtol=1e-5)


def test_groups_of_validation_patients_are_alike_and_left_out_in_turn(data):
    y = np.asarray(data["y_validation"])
    rest = utility.left_out(y, 10)
    assert len(rest) == 10
    positives = y[rest, 0].sum(axis=1)
    assert positives.max() - positives.min() <= 1
    out = [set(range(len(y))) - set(rows.tolist()) for rows in rest]
    assert set.union(*out) == set(range(len(y)))


def test_the_error_of_a_difference_is_that_of_a_mean_where_scores_are_means():
    values = np.random.default_rng(0).standard_normal(10)
    left = (values.sum() - values) / (len(values) - 1)
    expected = values.std(ddof=1) / np.sqrt(len(values))
    np.testing.assert_allclose(utility.jackknife_error(jnp.asarray(left)), expected, rtol=1e-5)


def test_models_learn_from_a_small_real_set(data, model):
    settings = recipe.load().evaluate
    key = jax.random.key(0)
    theta = train.fresh(model, key, 5)
    validation = data["x_validation"], data["y_validation"]
    found, _ = utility.measure_small(
        model, theta, data["x_train"], data["y_train"], key, settings, validation, validation
    )
    untrained = utility.measure(model, theta, data["x_train"], data["x_validation"], data["y_validation"])
    assert found["auroc"].mean() > untrained["auroc"].mean() + 0.1


def test_a_small_set_is_trained_for_as_long_as_serves_validation_patients_best(data, model):
    settings = recipe.load("default", {"evaluate.epochs": 20, "evaluate.tries": [0.2, 1, 5]}).evaluate
    assert settings.lengths == (4, 20, 100)
    key, theta = jax.random.key(0), train.fresh(model, jax.random.key(1), 4)
    x, y, *validation = data.values()
    test = x[100:300], y[100:300]
    curves = [
        utility.measure(model, fits, x[:40], *validation)["auprc"].mean()
        for fits in utility.fit_lengths(model, theta, x[:40], y[:40], key, settings, settings.lengths)
    ]
    found, epochs = utility.measure_small(model, theta, x[:40], y[:40], key, settings, tuple(validation), test)
    assert int(epochs) == settings.lengths[int(np.argmax(curves))]

    kept = utility.fit_lengths(model, theta, x[:40], y[:40], key, settings, settings.lengths)[int(np.argmax(curves))]
    np.testing.assert_allclose(found["auprc"], utility.measure(model, kept, x[:40], *test)["auprc"], rtol=1e-6)


def test_scores_without_a_group_of_patients_are_those_of_the_others(data, model):
    theta = train.fresh(model, jax.random.key(2), 3)
    x, y = data["x_validation"], data["y_validation"]
    rest = jnp.asarray(utility.left_out(np.asarray(y), 4))
    found = utility.measure(model, theta, data["x_train"], x, y, rest)
    plain = utility.measure(model, theta, data["x_train"], x, y)
    np.testing.assert_array_equal(found["auprc"], plain["auprc"])
    for group, rows in enumerate(rest):
        others = utility.measure(model, theta, data["x_train"], x[rows], y[rows])["auprc"]
        np.testing.assert_allclose(found["without"][:, group], others, rtol=1e-6)


def test_an_arm_says_nothing_without_a_group_that_has_all_positives():
    measured = {"auroc": np.full((2, 1), 0.7), "auprc": np.full((2, 1), 0.5), "without": np.full((2, 4, 1), 0.4)}
    y = np.array([[1], [0], [0], [0]])
    assert arms.arm(4, [measured], y, ["died"])["auprc"]["without"] == pytest.approx([0.4] * 4)
    measured["without"][:, 2] = np.nan
    assert "without" not in arms.arm(4, [measured], y, ["died"])["auprc"]

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attar import recipe, train
from attar.evaluate import utility
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


def test_full_networks_are_kept_at_their_best_validation_epoch(data, model):
    settings = recipe.load("default", {**QUICK, "evaluate.epochs": 40}).evaluate
    key, theta = jax.random.key(0), train.fresh(model, jax.random.key(1), 3)
    best = utility.fit_full(model, theta, *data.values(), key, settings)
    kept = utility.measure(model, best, data["x_train"], data["x_validation"], data["y_validation"])["auprc"][:, 0]

    fit, task = train.begin(theta), train.Task(data["x_train"], data["y_train"], jnp.zeros(1))
    curve = []
    for epoch in range(40):
        step_key = jax.random.fold_in(key, epoch)
        fit = train.epoch(model, fit, task, step_key, settings.step_size, settings.momentum, settings.batch)
        curve.append(
            utility.measure(model, fit.theta, data["x_train"], data["x_validation"], data["y_validation"])["auprc"][
                :, 0
            ]
        )
    np.testing.assert_allclose(kept, np.max(curve, axis=0), rtol=1e-6)


def test_scorer_scores_many_versions_as_it_scores_one(data, model):
    settings = recipe.load("default", QUICK).selection
    key = jax.random.key(0)
    scorer = utility.Scorer(train.fresh(model, key, 2), key, data["x_validation"], data["y_validation"])
    versions = jnp.stack([data["x_train"][start : start + 30] for start in (0, 100, 200)])
    labels = jnp.broadcast_to(jnp.asarray((np.arange(30) % 2)[:, None], jnp.float32), (3, 30, 1))
    together = scorer.score(model, versions, labels, settings)
    alone = [scorer.score(model, version[None], labels[:1], settings)[0] for version in versions]
    np.testing.assert_allclose(together, alone, rtol=1e-5)
    assert len(set(np.asarray(together).tolist())) == 3


def test_models_learn_from_a_small_real_set(data, model):
    settings = recipe.load().evaluate
    key = jax.random.key(0)
    theta = train.fresh(model, key, 5)
    found = utility.measure_small(
        model, theta, data["x_train"], data["y_train"], key, settings, data["x_validation"], data["y_validation"]
    )
    untrained = utility.measure(model, theta, data["x_train"], data["x_validation"], data["y_validation"])
    assert found["auroc"].mean() > untrained["auroc"].mean() + 0.1

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attar import train
from attar.models.mlp import MLP

PLAIN = MLP(features=3, outputs=1, hidden=6, dropout=0.0)


def task(rows=50, model=PLAIN):
    x = jax.random.normal(jax.random.key(1), (rows, model.features))
    y = (x[:, :1] > 0).astype(jnp.float32)
    return train.Task(x, y, jnp.zeros(1))


def networks(count, model=PLAIN):
    return train.begin(jax.vmap(model.init)(jax.random.split(jax.random.key(0), count)))


def test_full_batch_epoch_is_one_momentum_step():
    fit, data = networks(2), task()
    fit = train.epoch(PLAIN, fit, data, jax.random.key(2), 0.1, 0.9, 256)
    after = train.epoch(PLAIN, fit, data, jax.random.key(3), 0.1, 0.9, 256)
    gradient = jax.grad(train.batch_loss, 1)(PLAIN, fit.theta[1], data, None)
    velocity = 0.9 * fit.velocity[1] + gradient
    np.testing.assert_allclose(after.theta[1], fit.theta[1] - 0.1 * velocity, atol=1e-6)


def test_an_epoch_visits_each_row_at_most_once_and_all_but_the_remainder():
    rows, batch = 70, 16
    x = jnp.eye(rows)
    model = MLP(features=rows, outputs=1, hidden=4, dropout=0.0)
    fit = networks(1, model)
    data = train.Task(x, jnp.zeros((rows, 1)), jnp.zeros(1))
    after = train.epoch(model, fit, data, jax.random.key(0), 0.01, 0.0, batch)
    moved = np.abs(np.asarray(after.theta - fit.theta)[0, : rows * 4].reshape(rows, 4)).sum(axis=1) > 0
    active = np.asarray(fit.theta[0, : rows * 4].reshape(rows, 4) + fit.theta[0, rows * 4 : rows * 4 + 4] > 0).any(
        axis=1
    )
    assert not moved[~active].any()
    assert moved.sum() <= (rows // batch) * batch
    assert moved.sum() >= active.sum() - (rows % batch)


def test_networks_trained_together_equal_each_trained_alone():
    together = train.epoch(PLAIN, networks(4), task(600), jax.random.key(5), 0.05, 0.9, 128)
    for index in range(4):
        alone = train.begin(networks(4).theta[index : index + 1])
        alone = train.epoch(PLAIN, alone, task(600), jax.random.key(5), 0.05, 0.9, 128)
        np.testing.assert_allclose(alone.theta[0], together.theta[index], atol=1e-5)


@pytest.mark.parametrize("rate", [0.25, 0.5, 0.75, 0.1])
def test_masks_drop_at_the_rate_independently_per_network(rate):
    model = MLP(features=3, outputs=1, hidden=64, dropout=rate)
    kept = np.asarray(train.keep_masks(jax.random.key(0), model, 21, 200))
    assert kept.shape == (21, 200, 64)
    assert abs(kept.mean() - (1 - rate)) < 0.005
    flat = kept.reshape(21, -1).astype(float)
    correlation = np.corrcoef(flat) - np.eye(21)
    assert np.abs(correlation).max() < 0.05


def test_no_dropout_draws_no_mask():
    assert train.keep_masks(jax.random.key(0), PLAIN, 2, 5) is None


def test_training_learns_a_simple_rule():
    fit = networks(3)
    for epoch in range(60):
        fit = train.epoch(PLAIN, fit, task(400), jax.random.key(epoch), 0.5, 0.9, 64)
    logits = PLAIN.apply(fit.theta[0], task(400).x)
    assert float(((logits > 0) == (task(400).y == 1)).mean()) > 0.97

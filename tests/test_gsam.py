"""GSAM against a literal reference in float64, with and without decay, and its teachers on real patients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attar import recipe, teach, train
from attar.gsam import Gsam
from attar.models.mlp import MLP
from attar.prepare import prepare
from attar.seeds import stream
from test_match import Literal, doubles, problem


class Masked(Literal):
    """The literal network with a dropout mask on its hidden units."""

    def gradient(self, theta, x, y, keep=None):
        w1, b1, w2, b2 = (p.reshape(s) for p, s in zip(np.split(theta, self.cuts), self.shapes, strict=True))
        before = x @ w1 + b1
        scale = np.where(keep, 1 / 0.75, 0.0)
        hidden = np.maximum(before, 0) * scale
        residual = (1 / (1 + np.exp(-(hidden @ w2 + b2))) - y) / y.size
        back = (residual @ w2.T) * (before > 0) * scale
        return np.concatenate([(x.T @ back).ravel(), back.sum(0), (hidden.T @ residual).ravel(), residual.sum(0)])

    def gsam(self, theta, x, y, keep, radius, alpha, adaptive):
        g = self.gradient(theta, x, y, keep)
        scale = np.abs(theta) if adaptive else 1.0
        e = radius * scale**2 * g / np.linalg.norm(scale * g)
        g_p = self.gradient(theta + e, x, y, keep)
        orthogonal = g - (g @ g_p) / (g_p @ g_p) * g_p
        assert abs(orthogonal @ g_p) < 1e-9
        return g_p - alpha * orthogonal


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_the_direction_equals_the_formula_with_one_mask_for_both_gradients(adaptive, share):
    model, theta, _, x, y = problem()
    keep = np.random.default_rng(0).random((12, 7)) > 0.25
    task = train.Task(x, y, jnp.zeros(1))
    found = Gsam(0.5, 0.4, adaptive)(model, theta, task, jnp.asarray(keep), jnp.float32(share))
    theta, x, y = doubles(theta, x, y)
    expected = Masked(5, 7, 1).gsam(theta, x, y, keep, 0.5 * share, 0.4, adaptive)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("decay", ["none", "linear"])
def test_teachers_equal_a_literal_loop(decay):
    """Two epochs of three batches: the step size and with it the radius fall from 1 to 0, or stay."""
    changes = {"optimiser": "gsam", "decay": decay, "epochs": 2, "count": 2, "batch": 4, "step_size": 0.1}
    settings = recipe.load("default", {f"teachers.{key}": value for key, value in changes.items()}).teachers
    model, _, _, x, y = problem()
    found = teach.teach(model, train.Task(x, y, jnp.zeros(1)), settings, 0, every_epoch=True)

    literal = Masked(5, 7, 1)
    theta = np.asarray(found.starts[1], np.float64)
    velocity, count = np.zeros_like(theta), 0
    for epoch in range(2):
        key, order_key = jax.random.split(jax.random.fold_in(stream(0, "teaching"), epoch))
        order = np.asarray(jax.random.permutation(order_key, 12)).reshape(3, 4)
        for rows, step_key in zip(order, jax.random.split(key, 3), strict=True):
            share = 1 - count / 6 if decay == "linear" else 1.0
            keep = np.asarray(train.keep_masks(step_key, model, 2, 4))[1]
            x64, y64 = doubles(x[rows], y[rows])
            velocity = 0.9 * velocity + literal.gsam(theta, x64, y64, keep, 1.0 * share, 0.4, True)
            theta = theta - 0.1 * share * velocity
            count += 1
        np.testing.assert_allclose(found.points[1, epoch + 1], theta, atol=2e-5)


def test_gsam_teachers_learn_the_real_outcome_and_come_to_rest(small_cohort):
    data = prepare(small_cohort, small_cohort.split(0))
    model = MLP(data.x_train.shape[1], 1, 16, 0.25)
    task = teach.task(data.x_train, data.y_train, "aligned", np.array([0.5]))
    changes = {"teachers.count": 2, "teachers.epochs": 20, "teachers.batch": 64}
    settings = recipe.load("default", {"method": "ftd", **changes}).teachers
    assert (settings.optimiser, settings.decay) == ("gsam", "linear")
    points = teach.teach(model, task, settings, 0, every_epoch=True).points
    steps = np.linalg.norm(np.diff(points, axis=1), axis=2)
    assert (steps[:, -1] < 0.2 * steps[:, 5]).all()
    losses = [float(train.batch_loss(model, jnp.asarray(theta), task, None)) for theta in (points[0, 0], points[0, -1])]
    assert losses[1] < 0.9 * losses[0]

"""The meta-gradients against slow, literal references that share no code with them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attar import match
from attar.models import student
from attar.models.mlp import MLP
from attar.models.mlp_student import Trace


def problem(outputs: int = 1, rows: int = 12, features: int = 5, hidden: int = 7):
    model = MLP(features, outputs, hidden, 0.25)
    keys = jax.random.split(jax.random.key(0), 4)
    start = model.init(keys[0])
    end = start + 0.3 * jax.random.normal(keys[1], start.shape)
    x = jax.random.normal(keys[2], (rows, features))
    y = (jax.random.uniform(keys[3], (rows, outputs)) < 0.5).astype(jnp.float32)
    return model, start, end, x, y


class Literal:
    """The student in float64 NumPy, with the gradient of a one-hidden-layer network written out by hand.

    `batches` says which rows each step sees; without it, all.
    """

    def __init__(self, features, hidden, outputs):
        self.cuts = np.cumsum([features * hidden, hidden, hidden * outputs])
        self.shapes = [(features, hidden), (hidden,), (hidden, outputs), (outputs,)]

    def gradient(self, theta, x, y):
        w1, b1, w2, b2 = (p.reshape(s) for p, s in zip(np.split(theta, self.cuts), self.shapes, strict=True))
        before = x @ w1 + b1
        hidden = np.maximum(before, 0)
        residual = (1 / (1 + np.exp(-(hidden @ w2 + b2))) - y) / y.size
        back = (residual @ w2.T) * (before > 0)
        return np.concatenate([(x.T @ back).ravel(), back.sum(0), (hidden.T @ residual).ravel(), residual.sum(0)])

    def follow(self, start, x, y, step_size, batches):
        iterates = [start]
        for rows in batches:
            iterates.append(iterates[-1] - step_size * self.gradient(iterates[-1], x[rows], y[rows]))
        return iterates

    def loss(self, start, end, x, y, step_size, batches):
        reached = self.follow(start, x, y, step_size, batches)[-1]
        return np.sum((reached - end) ** 2) / np.sum((start - end) ** 2)


def doubles(*arrays):
    return [np.asarray(array, np.float64) for array in arrays]


def differences(function, x, width=1e-6):
    """Central differences of a scalar function, entry by entry."""
    slopes = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[index] = width
        slopes[index] = (function(x + step) - function(x - step)) / (2 * width)
    return slopes


def batches_of(kind, rows, steps):
    """Return the rows of each step as the student takes them, and as the literal one does."""
    if kind == "whole":
        return None, [np.arange(rows)] * steps
    drawn = np.stack([np.random.default_rng(n).permutation(rows)[: rows // 3] for n in range(steps)])
    return jnp.asarray(drawn), list(drawn)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize(
    ("rows", "kind"), [(12, "whole"), (4, "whole"), (12, "batches")], ids=["primal", "dual", "batches"]
)
def test_first_order_equals_the_formula(outputs, rows, kind):
    model, start, end, x, y = problem(outputs, rows)
    steps, step_size = 6, 0.2
    taken, batches = batches_of(kind, rows, steps)
    lesson = match.Lesson(x, y, jnp.float32(step_size), taken)
    found = match.first_order(model, match.Segment(start, end), lesson, steps)

    literal = Literal(5, 7, outputs)
    start, end, x, y = doubles(start, end, x, y)
    *iterates, reached = literal.follow(start, x, y, step_size, batches)
    direction = 2 * (reached - end) / np.sum((start - end) ** 2)
    seen = list(zip(iterates, batches, strict=True))
    inputs = -step_size * differences(lambda x: sum(literal.gradient(t, x[b], y[b]) for t, b in seen) @ direction, x)
    slope = -sum(literal.gradient(t, x[b], y[b]) for t, b in seen) @ direction

    np.testing.assert_allclose(found.loss, literal.loss(start, end, x, y, step_size, batches), rtol=1e-5)
    np.testing.assert_allclose(found.inputs, inputs, atol=1e-5 * np.abs(inputs).max())
    np.testing.assert_allclose(found.step_size, slope, rtol=1e-5)
    assert found.labels is None


@pytest.mark.parametrize("kind", ["whole", "batches"])
def test_first_order_with_respect_to_the_labels(kind):
    model, start, end, x, y = problem()
    steps, step_size = 6, 0.2
    taken, batches = batches_of(kind, 12, steps)
    y = 0.1 + 0.8 * y
    lesson = match.Lesson(x, y, jnp.float32(step_size), taken)
    found = match.first_order(model, match.Segment(start, end), lesson, steps, learn_labels=True)

    literal = Literal(5, 7, 1)
    start, end, x, y = doubles(start, end, x, y)
    *iterates, reached = literal.follow(start, x, y, step_size, batches)
    direction = 2 * (reached - end) / np.sum((start - end) ** 2)
    seen = list(zip(iterates, batches, strict=True))
    labels = -step_size * differences(lambda y: sum(literal.gradient(t, x[b], y[b]) for t, b in seen) @ direction, y)
    np.testing.assert_allclose(found.labels, labels, atol=1e-5 * np.abs(labels).max())


@pytest.mark.parametrize(("outputs", "kind"), [(1, "whole"), (3, "whole"), (1, "batches")])
def test_exact_equals_finite_differences_of_the_unrolled_loss(outputs, kind):
    model, start, end, x, y = problem(outputs)
    steps, step_size = 6, 0.2
    taken, batches = batches_of(kind, 12, steps)
    lesson = match.Lesson(x, y, jnp.float32(step_size), taken)
    found = match.exact(model, match.Segment(start, end), lesson, steps, learn_labels=True)

    literal = Literal(5, 7, outputs)
    start, end, x, y = doubles(start, end, x, y)
    inputs = differences(lambda x: literal.loss(start, end, x, y, step_size, batches), x)
    labels = differences(lambda y: literal.loss(start, end, x, y, step_size, batches), y)
    slope = differences(lambda e: literal.loss(start, end, x, y, e[0], batches), np.array([step_size]))[0]

    np.testing.assert_allclose(found.inputs, inputs, atol=2e-5 * np.abs(inputs).max())
    np.testing.assert_allclose(found.labels, labels, atol=2e-5 * np.abs(labels).max())
    np.testing.assert_allclose(found.step_size, slope, rtol=2e-5)


def test_the_two_gradients_differ_by_one_stop_gradient():
    model, start, end, x, y = problem()

    def loss(x, stop):
        theta = start
        for _ in range(8):
            at = jax.lax.stop_gradient(theta) if stop else theta
            theta = theta - 0.3 * jax.grad(student.student_loss, 1)(model, at, x, y)
        return match.distance(theta, match.Segment(start, end))[0]

    for gradient, stop in ((match.first_order, True), (match.exact, False)):
        found = gradient(model, match.Segment(start, end), match.Lesson(x, y, jnp.float32(0.3)), 8).inputs
        expected = jax.grad(loss)(x, stop)
        np.testing.assert_allclose(found, expected, atol=1e-5 * float(jnp.abs(expected).max()))


@pytest.mark.parametrize("outputs", [1, 4])
@pytest.mark.parametrize(("rows", "features"), [(30, 5), (30, 80)], ids=["primal", "dual"])
def test_the_hand_written_student_equals_automatic_differentiation(outputs, rows, features):
    model, start, end, x, y = problem(outputs, rows, features)
    reached, iterates = student.follow(model, start, x, y, jnp.float32(0.1), 10)
    by_hand, trace = model.follow(start, x, y, jnp.float32(0.1), 10)
    np.testing.assert_allclose(by_hand, reached, atol=1e-5)
    assert isinstance(trace, Trace) == (rows < features)
    automatic = student.pull(model, iterates, x, y, end - start)
    pulled = model.pull(trace, x, y, end - start)
    np.testing.assert_allclose(pulled, automatic, atol=1e-5 * float(jnp.abs(automatic).max()))


@pytest.mark.parametrize(("rows", "features"), [(200, 20), (50, 200)], ids=["primal", "dual"])
def test_memory_does_not_grow_with_steps_beyond_the_iterates(rows, features):
    model, start, end, x, y = problem(rows=rows, features=features, hidden=64)
    segment, lesson = match.Segment(start, end), match.Lesson(x, y, jnp.float32(0.1))

    def scratch(steps):
        lowered = jax.jit(match.first_order, static_argnums=(0, 3)).lower(model, segment, lesson, steps)
        return lowered.compile().memory_analysis().temp_size_in_bytes

    growth = (scratch(400) - scratch(100)) / 300
    assert growth <= 1.1 * 4 * model.size

"""The meta-gradients against slow, literal references that share no code with them."""

from functools import partial

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

    def tensors(self, theta):
        return (p.reshape(s) for p, s in zip(np.split(theta, self.cuts), self.shapes, strict=True))

    def logits(self, theta, x):
        w1, b1, w2, b2 = self.tensors(theta)
        return np.maximum(x @ w1 + b1, 0) @ w2 + b2

    def gradient(self, theta, x, y):
        w1, b1, w2, b2 = self.tensors(theta)
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
        return match.distance(model, match.Segment(start, end), None, theta[None])[0]

    for gradient, stop in ((match.first_order, True), (match.exact, False)):
        found = gradient(model, match.Segment(start, end), match.Lesson(x, y, jnp.float32(0.3)), 8).inputs
        expected = jax.grad(loss)(x, stop)
        np.testing.assert_allclose(found, expected, atol=1e-5 * float(jnp.abs(expected).max()))


@pytest.mark.parametrize("kind", ["whole", "batches"])
@pytest.mark.parametrize("compared", ["parameters", "predictions"])
def test_a_student_is_compared_with_its_path_at_every_moment(kind, compared):
    """Three moments of a student of nine steps, in parameters or on patients; both gradients."""
    model, start, end, x, y = problem()
    patients = jax.random.normal(jax.random.key(8), (20, 5)) if compared == "predictions" else None
    between = jnp.stack([start + share * (end - start) + 0.01 for share in (0.2, 0.7)])
    segment, step_size = match.Segment(start, end, between=between), 0.2
    taken, batches = batches_of(kind, 12, 9)
    lesson = match.Lesson(x, y, jnp.float32(step_size), taken, patients)
    exact, first = (
        jax.jit(gradient, static_argnums=(0, 3, 4))(model, segment, lesson, 9, True)
        for gradient in (match.exact, match.first_order)
    )

    literal = Literal(5, 7, 1)
    start, end, x, y, targets = doubles(start, end, x, y, segment.targets)

    def seen(theta):
        return theta if patients is None else literal.logits(theta, np.asarray(patients, np.float64))

    def gap(moment, theta):
        return np.sum((seen(theta) - seen(targets[moment])) ** 2) / np.sum((seen(start) - seen(end)) ** 2) / 3

    def loss(x, step_size):
        iterates = literal.follow(start, x, y, step_size, batches)
        return sum(gap(moment, iterates[3 * moment + 3]) for moment in range(3))

    np.testing.assert_allclose([exact.loss, first.loss], loss(x, step_size), rtol=1e-4)
    inputs = differences(lambda x: loss(x, step_size), x)
    np.testing.assert_allclose(exact.inputs, inputs, atol=5e-5 * np.abs(inputs).max())
    slope = differences(lambda e: loss(x, e[0]), np.array([step_size]))[0]
    np.testing.assert_allclose(exact.step_size, slope, rtol=1e-4)

    iterates = literal.follow(start, x, y, step_size, batches)
    slopes = [differences(partial(gap, moment), iterates[3 * moment + 3]) for moment in range(3)]
    ahead = [sum(slopes[step // 3 :]) for step in range(9)]

    def pulled(x):
        return sum(
            literal.gradient(iterates[step], x[rows], y[rows]) @ ahead[step] for step, rows in enumerate(batches)
        )

    inputs = -step_size * differences(pulled, x)
    np.testing.assert_allclose(first.inputs, inputs, atol=5e-5 * np.abs(inputs).max())
    np.testing.assert_allclose(first.step_size, -pulled(x), rtol=1e-4)
    if kind == "whole":
        own = match.first_order(model, segment, lesson, 9).inputs
        np.testing.assert_allclose(own, first.inputs, atol=1e-5 * float(jnp.abs(own).max()))


def test_a_segment_along_which_no_prediction_changes_has_a_finite_loss():
    model, start, _, x, y = problem()
    patients = jax.random.normal(jax.random.key(8), (20, 5))
    found = match.exact(model, match.Segment(start, start), match.Lesson(x, y, jnp.float32(0.3), None, patients), 3)
    assert np.isfinite(found.loss)
    assert np.isfinite(found.inputs).all()


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

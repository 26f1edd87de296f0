import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from attar import condense, drawing, moves, paths, recipe, stay, train
from attar.evaluate import utility
from attar.models.layout import Layout
from attar.models.mlp import MLP
from attar.models.student import student_loss
from attar.models.tcn import TCN, Block
from attar.patients import balanced
from conftest import QUICK

SHORT_STAY = {"stay.iterations": 40, "stay.steps": 12, "stay.least": 8, "stay.window": 4, "student.patients": 64}


@pytest.fixture(scope="module")
def wanted(setting):
    return stay.goal(setting.model, setting.drawn, setting.patients)


def test_the_goal_is_what_all_teachers_predict_together(setting, wanted):
    model, teachers, *_ = setting
    some = wanted.patients.x[:50]
    expected = np.mean([model.apply(jnp.asarray(end), some) for end in teachers.ends], axis=0)
    np.testing.assert_allclose(wanted.logits[:50], expected, atol=1e-5)
    assert wanted.logits.shape == (len(wanted.patients.x), 1)


def test_disagreement_knows_neither_scale_nor_shift_and_is_a_mean_over_labels(rng):
    wanted = jnp.asarray(rng.standard_normal((200, 2)))
    assert float(stay.disagreement(3 * wanted + 5, wanted)) == pytest.approx(0, abs=1e-5)
    assert float(stay.disagreement(-wanted, wanted)) == pytest.approx(2, abs=1e-5)
    half = wanted.at[:, 1].multiply(-1)
    assert float(stay.disagreement(half, wanted)) == pytest.approx(1, abs=1e-5)
    other = jnp.asarray(rng.standard_normal((200, 1)))
    expected = 1 - np.corrcoef(np.asarray(other[:, 0]), np.asarray(wanted[:, 0]))[0, 1]
    assert float(stay.disagreement(other, wanted[:, :1])) == pytest.approx(expected, abs=1e-5)
    assert np.isfinite(jax.grad(lambda logits: stay.disagreement(logits, wanted))(jnp.zeros((200, 2)))).all()


@pytest.mark.parametrize("batch", ["all", 8])
def test_a_student_trains_as_receivers_do_and_the_gradient_is_that_of_its_last_steps(setting, wanted, batch):
    model, start = setting.model, setting.start
    settings = {**QUICK, **SHORT_STAY, "student.batch": batch, "stay.steps": 4, "stay.least": 4, "stay.window": 2}
    resolved, key = recipe.load("default", settings), jax.random.key(5)
    x, y = jnp.asarray(start.x), jnp.asarray(start.y)
    batches = drawing.draw_batches(resolved, len(x), 4, jax.random.key(6))
    found = stay.learn(model, wanted, x, y, batches, resolved, key)

    start_key, patients_key, _ = jax.random.split(key, 3)
    rows = wanted.patients.rows(patients_key, 64)
    receiver = resolved.evaluate

    def steps(x, fit, numbers):
        for number in numbers:
            seen = None if batches is None else batches[number]
            slope = jax.grad(student_loss, 1)(model, fit.theta, x, y, seen) + receiver.weight_decay * fit.theta
            velocity = receiver.momentum * fit.velocity + slope
            fit = train.Fit(fit.theta - receiver.step_size * velocity, velocity)
        return fit

    before = lax.stop_gradient(steps(x, train.begin(model.init(start_key)), range(2)))

    def loss(x):
        theta = steps(x, before, range(2, 4)).theta
        return stay.disagreement(model.apply(theta, wanted.patients.x[rows]), wanted.logits[rows])

    expected, gradient = jax.value_and_grad(loss)(x)
    np.testing.assert_allclose(found.loss, expected, rtol=1e-4)
    np.testing.assert_allclose(found.inputs, gradient, atol=1e-6)
    assert float(jnp.abs(found.inputs).max()) > 1e-5


def test_a_network_that_normalises_predicts_by_the_moments_of_what_it_was_trained_on(rng):
    """Teachers by those of real patients, a student by those of the set, as whoever receives it does."""
    model = TCN(Layout(6, 3, 1), 1, (Block((3,), 4),), 0.0)
    x = rng.standard_normal((60, model.layout.width)).astype(np.float32)
    y = (x[:, :1] > 0).astype(np.float32)
    ends = train.fresh(model, jax.random.key(0), 2)
    wanted = stay.goal(model, paths.Line(jnp.stack([ends, ends], axis=1)), balanced(x, y))
    each = [utility.predict(model, end, jnp.asarray(x), jnp.asarray(x)) for end in ends]
    np.testing.assert_allclose(wanted.logits[:60], np.mean(each, axis=0), atol=0.05)

    settings = {**QUICK, **SHORT_STAY, "stay.steps": 2, "stay.least": 2, "stay.window": 2}
    resolved, key = recipe.load("default", settings), jax.random.key(5)
    found = stay.learn(model, wanted, jnp.asarray(x[:20]), jnp.asarray(y[:20]), None, resolved, key)
    start_key, patients_key, _ = jax.random.split(key, 3)
    receiver = resolved.evaluate
    task = train.Task(jnp.asarray(x[:20]), jnp.asarray(y[:20]), jnp.zeros(1))
    fit = train.begin(model.init(start_key)[None])
    for _ in range(2):
        fit = train.epoch(
            model, fit, task, key, receiver.step_size, receiver.momentum, 20, weight_decay=receiver.weight_decay
        )
    rows = wanted.patients.rows(patients_key, 64)
    logits = utility.predict(model, fit.theta[0], task.x, wanted.patients.x[rows])
    np.testing.assert_allclose(found.loss, stay.disagreement(logits, wanted.logits[rows]), rtol=1e-3)


def test_without_dropout_a_student_is_a_receiver(setting):
    """What students are asked to know is what networks on the exported table are trained to: the same steps."""
    model, start = setting.model, setting.start
    x, y = jnp.asarray(start.x), jnp.asarray(start.y)
    plain = MLP(model.features, 1, 16, 0.0)
    theta = train.fresh(plain, jax.random.key(0), 1)
    fit = train.begin(theta)
    for _ in range(5):
        fit = train.epoch(
            plain, fit, train.Task(x, y, jnp.zeros(1)), jax.random.key(1), 0.05, 0.9, 20, weight_decay=0.03
        )
    one, velocity = theta[0], jnp.zeros_like(theta[0])
    for _ in range(5):
        velocity = 0.9 * velocity + jax.grad(student_loss, 1)(plain, one, x, y) + 0.03 * one
        one = one - 0.05 * velocity
    np.testing.assert_allclose(fit.theta[0], one, atol=1e-6)


def test_weight_decay_makes_networks_forget_their_start(setting, wanted):
    """Networks of different starts agree more on real patients if the set alone decides."""
    model, start = setting.model, setting.start
    task = train.Task(jnp.asarray(start.x), jnp.asarray(start.y), jnp.zeros(1))

    def agreement(weight_decay):
        fit = train.begin(train.fresh(model, jax.random.key(0), 6))
        for number in range(200):
            key = jax.random.key(number)
            fit = train.epoch(model, fit, task, key, 0.05, 0.9, 20, weight_decay=weight_decay)
        logits = jax.vmap(lambda theta: model.apply(theta, wanted.patients.x[:500]))(fit.theta)[..., 0]
        return np.corrcoef(np.asarray(logits))[np.triu_indices(6, 1)].mean()

    assert agreement(0.03) > agreement(0.0) + 0.02


def test_inputs_move_as_far_however_steep_the_loss_and_less_and_less(setting, wanted):
    model, start, rules = setting.model, setting.start, setting.rules
    settings = {**QUICK, **SHORT_STAY, "inputs.rows": "free", "inputs.decay": 0.5, "inputs.momentum": 0.0}
    resolved = recipe.load("default", settings)
    drawn = paths.Line(jnp.zeros((1, 2, model.size)))
    state = condense.begin(
        model, drawn, wanted.patients, start.x, start.y, recipe.load("default", settings | {"student.step_size": 0.1})
    )
    state = state._replace(iteration=jnp.int32(resolved.inputs.iterations))
    _, after = moves.hold(model, wanted, rules, resolved, state, jax.random.key(0))
    moved = float(jnp.sqrt(jnp.mean((after.x - state.x) ** 2)))
    assert moved == pytest.approx(resolved.stay.step_size, rel=1e-3)
    late = state._replace(iteration=jnp.int32(resolved.iterations))
    np.testing.assert_array_equal(moves.hold(model, wanted, rules, resolved, late, jax.random.key(0))[1].x, late.x)

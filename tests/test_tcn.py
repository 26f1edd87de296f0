import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from attar.evaluate.utility import predict
from attar.match import Lesson, Segment, exact, first_order
from attar.models import MODELS, flat, student
from attar.models.convolve import convolve, recall
from attar.models.layout import Layout
from attar.models.norm import batch_norm, group_norm
from attar.models.tcn import TCN, Block
from attar.paths import Bezier

LAYOUT = Layout(hours=12, channels=3, static=2)
SERIES = [name for name, row in MODELS.items() if row.series]


def small(name, dropout=0.5):
    return MODELS[name].make(LAYOUT, 2, 16, dropout)


@pytest.fixture(scope="module")
def rows():
    keys = jax.random.split(jax.random.key(0), 2)
    y = jax.random.bernoulli(keys[1], 0.5, (10, 2)).astype(jnp.float32)
    return jax.random.normal(keys[0], (10, LAYOUT.width)), y


@pytest.mark.parametrize(("taps", "dilation", "hours"), [(9, 1, 48), (3, 1, 24), (7, 1, 47), (5, 2, 48), (2, 4, 25)])
def test_convolution_is_that_of_xla(taps, dilation, hours):
    keys = jax.random.split(jax.random.key(taps), 2)
    series, kernel = jax.random.normal(keys[0], (4, hours, 5)), jax.random.normal(keys[1], (taps, 5, 6))

    def wanted(series, kernel):
        return lax.conv_general_dilated(
            series,
            kernel,
            (1,),
            [((taps - 1) * dilation, 0)],
            rhs_dilation=(dilation,),
            dimension_numbers=("NWC", "WIO", "NWC"),
            precision=lax.Precision.HIGHEST,
        )

    def found(series, kernel):
        return convolve(series, [kernel], dilation)

    change = jax.random.normal(jax.random.key(0), (4, hours, 6))

    def everything(convolved):
        made, back = jax.vjp(convolved, series, kernel)
        slope = jax.grad(lambda kernel: (convolved(series, kernel) ** 3).sum())
        return made, *back(change), jax.jvp(slope, (kernel,), (kernel[::-1],))[1]

    for mine, theirs in zip(*(jax.jit(partial(everything, way))() for way in (found, wanted)), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=max(2e-4, 1e-5 * float(jnp.abs(theirs).max())))


def test_many_convolutions_at_once_are_those_one_by_one():
    keys = jax.random.split(jax.random.key(0), 2)
    series, kernels = jax.random.normal(keys[0], (3, 2, 12, 4)), jax.random.normal(keys[1], (3, 5, 4, 2))

    def both(series, kernel):
        return convolve(series, [kernel]), jax.grad(lambda kernel: (convolve(series, [kernel]) ** 2).sum())(kernel)

    one, close = jax.jit(both), partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-4)
    together, shared = jax.jit(jax.vmap(both))(series, kernels), jax.jit(jax.vmap(both, (None, 0)))(series[0], kernels)
    for number, kernel in enumerate(kernels):
        for many, single in ((together, one(series[number], kernel)), (shared, one(series[0], kernel))):
            for mine, wanted in zip(many, single, strict=True):
                close(mine[number], wanted)


def test_a_recalled_convolution_changes_as_if_it_were_computed():
    keys = jax.random.split(jax.random.key(0), 2)
    series, kernel = jax.random.normal(keys[0], (2, 12, 4)), jax.random.normal(keys[1], (5, 4, 2))

    def along(convolved, series):
        return jax.jvp(lambda kernel: (convolved(series, [kernel]) ** 3).sum(), (kernel,), (kernel[::-1],))[1]

    @jax.jit
    def both():
        known = convolve(series, [kernel], 2)
        ways = (lambda *parts: convolve(*parts, 2)), (lambda *parts: recall(2, known, *parts))
        return [jax.value_and_grad(partial(along, way))(series) for way in ways]

    for computed, recalled in zip(*both(), strict=True):
        np.testing.assert_allclose(recalled, computed, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", ["tcn", "lstm-1"])
def test_a_student_too_large_to_remember_pulls_alike(name, rows, monkeypatch):
    model = small(name)
    start, direction = model.init(jax.random.key(1)), model.init(jax.random.key(2))
    pulled = []
    for memory in (student.MEMORY, 0):
        monkeypatch.setattr(student, "MEMORY", memory)

        def pull():
            _, trace = model.follow(start, *rows, jnp.float32(0.1), 3)
            assert (trace.seen is None) == (student.MEMORY == 0)
            return model.pull(trace, *rows, direction)

        pulled.append(jax.jit(pull)())
    np.testing.assert_allclose(*pulled, rtol=1e-4, atol=1e-5 * np.abs(pulled[1]).max())


def test_kernels_side_by_side_see_the_past_only():
    series = jnp.zeros((1, 12, 1)).at[0, 5, 0].set(1.0)
    found = convolve(series, [jnp.ones((3, 1, 1)), jnp.ones((7, 1, 1))])
    np.testing.assert_allclose(found[0, :, 0], (np.arange(12) >= 5) & (np.arange(12) < 8), atol=1e-5)
    np.testing.assert_allclose(found[0, :, 1], (np.arange(12) >= 5) & (np.arange(12) < 12), atol=1e-5)


def test_a_row_is_hours_then_what_does_not_change():
    series = LAYOUT.series(jnp.arange(38.0)[None])
    assert series.shape == (1, 12, 5)
    np.testing.assert_array_equal(series[0, 2], [6, 7, 8, 36, 37])


def test_the_papers_network_has_its_tensors():
    model = MODELS["tcn"].make(Layout(48, 60, 0), 25, 64, 0.75)
    assert model.blocks == (Block((9,), 64),)
    assert len(model.tensors) == 14
    assert model.size == 9 * 60 * 64 + 9 * 64 * 64 + 2 * (3 * 64 + 1) + 60 * 64 + 64 + 64 * 25 + 25
    theta = np.asarray(model.init(jax.random.key(0)))
    assert theta.shape == (model.size,)
    assert np.abs(theta[: 9 * 60 * 64]).max() <= (9 * 60) ** -0.5
    wide, deep = (MODELS[name].make(Layout(48, 60, 0), 1, 64, 0.5) for name in ("tcn-1", "tcn-2"))
    assert (MODELS["tcn-1"].hidden, MODELS["tcn-2"].hidden, MODELS["lstm-1"].hidden) == (192, 256, 128)
    assert wide.blocks[0].kernels == (3, 5, 7)
    assert [block.dilation for block in deep.blocks] == [1, 2]


def test_one_block_is_what_it_says(rows):
    x, _ = rows
    model = small("tcn")
    theta = model.init(jax.random.key(1))
    parts = dict(zip(model.tensors, flat.split(theta, model.tensors), strict=True))
    series = np.asarray(LAYOUT.series(x), np.float64)
    hidden = series
    for layer in (0, 1):
        kernel = np.asarray(parts[f"block0.{layer}.kernel9"], np.float64)
        padded = np.pad(hidden, ((0, 0), (8, 0), (0, 0)))
        z = sum(padded[:, tap : tap + 12] @ kernel[tap] for tap in range(9)) + parts[f"block0.{layer}.bias"]
        z = (z - z.mean((0, 1))) / np.sqrt(z.var((0, 1)) + 1e-5)
        z = z * parts[f"block0.{layer}.scale"] + parts[f"block0.{layer}.shift"]
        hidden = np.where(z > 0, z, parts[f"block0.{layer}.slope"] * z)
    hidden = hidden + series @ parts["block0.shortcut"] + parts["block0.shortcut_bias"]
    wanted = hidden.mean(axis=1) @ parts["output.weight"] + parts["output.bias"]
    np.testing.assert_allclose(jax.jit(model.apply)(theta, x), wanted, atol=1e-4)


@pytest.mark.parametrize("name", SERIES)
def test_every_network_drops_out_and_its_student_is_that_of_automatic_differentiation(name, rows):
    x, y = rows
    model = small(name)
    theta = model.init(jax.random.key(1))
    keep = jnp.ones(model.units(10), bool)
    apply = jax.jit(lambda keep: dataclasses.replace(model, dropout=0.0).apply(theta, x, keep))
    plain = jax.jit(model.apply)(theta, x)
    np.testing.assert_allclose(apply(keep), plain, atol=1e-5)
    assert float(jnp.abs(apply(keep.at[0].set(False))[0] - plain[0]).max()) > 1e-4

    @jax.jit
    def both():
        end, trace = model.follow(theta, x, y, jnp.float32(0.05), 4)
        losses = jnp.stack([student.student_loss(model, at, x, y) for at in (theta, end)])
        direction = end - theta
        return losses, student.pull(model, trace.iterates, x, y, direction), model.pull(trace, x, y, direction)

    (before, after), wanted, found = both()
    assert after < before
    assert float(jnp.abs(found - wanted).max() / jnp.abs(wanted).max()) < 1e-4


def test_first_order_and_exact_gradients_agree_for_one_step(rows):
    x, y = rows
    model = small("tcn")
    start = model.init(jax.random.key(1))
    segment = Segment(start, start + 0.01 * jax.random.normal(jax.random.key(2), start.shape))
    lesson = Lesson(x, y, jnp.float32(0.05))
    one, other = jax.jit(lambda: (first_order(model, segment, lesson, 1), exact(model, segment, lesson, 1)))()
    np.testing.assert_allclose(one.loss, other.loss, rtol=1e-5)
    assert float(jnp.abs(one.inputs - other.inputs).max() / jnp.abs(other.inputs).max()) < 1e-3


def test_evaluation_does_not_depend_on_who_else_is_evaluated(rows):
    x, _ = rows
    model = small("tcn")
    theta = model.init(jax.random.key(1))
    stats, apply = jax.jit(model.calibrate)(theta, x), jax.jit(model.apply)
    together = apply(theta, x, None, stats)
    np.testing.assert_allclose(together, apply(theta, x), atol=1e-5)
    np.testing.assert_allclose(apply(theta, x[:2], None, stats), together[:2], atol=1e-5)
    assert float(jnp.abs(apply(theta, x[:2]) - together[:2]).max()) > 1e-2, "a batch is normalised by itself"


def test_a_path_evaluates_at_its_ends_as_the_ends_do(rows):
    x, _ = rows
    model = small("tcn")
    start, control, end = (model.init(jax.random.key(seed)) for seed in range(3))
    path, evaluate = Bezier(jnp.stack([start, control, end])), jax.jit(partial(predict, model))
    for t, theta in ((0.0, start), (1.0, end)):
        np.testing.assert_array_equal(evaluate(path.at(jnp.float32(t)), x, x[:3]), evaluate(theta, x, x[:3]))


def test_many_rows_are_calibrated_by_evenly_spaced_ones(rows, monkeypatch):
    x, _ = rows
    monkeypatch.setattr("attar.models.tcn.CALIBRATION_ROWS", 5)
    model = small("tcn")
    theta = model.init(jax.random.key(1))
    some, same = jax.jit(model.calibrate)(theta, x), jax.jit(model.calibrate)(theta, x[::2])
    np.testing.assert_array_equal(some[0].mean, same[0].mean)


def test_norms_normalise(rows):
    z = 3 + 2 * jax.random.normal(jax.random.key(0), (6, 12, 16))
    normal, moments = batch_norm(z, jnp.ones(16), jnp.zeros(16), None)
    np.testing.assert_allclose(normal.mean((0, 1)), 0, atol=1e-5)
    np.testing.assert_allclose(normal.std((0, 1)), 1, atol=1e-3)
    np.testing.assert_allclose(moments.mean, z.mean((0, 1)), rtol=1e-5)
    alone, nothing = group_norm(z, jnp.ones(16), jnp.zeros(16), None)
    assert nothing is None
    np.testing.assert_allclose(alone.reshape(6, 12, 8, 2).mean((1, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(group_norm(z[:1], jnp.ones(16), jnp.zeros(16), None)[0], alone[:1], atol=1e-5)


def test_lstm_is_its_gates(rows):
    x, _ = rows
    model = small("lstm-1")
    theta = model.init(jax.random.key(1))
    sizes = [5 * 64, 64, 16 * 64, 16 * 2, 2]
    weight, bias, state, out, out_bias = np.split(np.asarray(theta, np.float64), np.cumsum(sizes)[:-1])
    weight, state, out = weight.reshape(5, 64), state.reshape(16, 64), out.reshape(16, 2)
    series = np.asarray(LAYOUT.series(x), np.float64)
    shown, cell = np.zeros((10, 16)), np.zeros((10, 16))

    def sigmoid(z):
        return 1 / (1 + np.exp(-z))

    for hour in range(12):
        into, forget, new, gate = np.split(series[:, hour] @ weight + bias + shown @ state, 4, axis=1)
        cell = sigmoid(forget) * cell + sigmoid(into) * np.tanh(new)
        shown = sigmoid(gate) * np.tanh(cell)
    np.testing.assert_allclose(jax.jit(model.apply)(theta, x), shown @ out + out_bias, atol=1e-5)


def test_a_tcn_is_hashable_so_that_jit_takes_it():
    assert hash(small("tcn")) == hash(small("tcn"))
    assert isinstance(small("tcn"), TCN)

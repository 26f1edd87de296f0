import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attar import paths, recipe, teach, train
from attar.models.mlp import MLP
from attar.paths import Bezier
from attar.paths.bezier import fit_step, straight
from attar.paths.convexified import convexify
from attar.prepare import prepare

UNIT = st.floats(0, 1, width=32)


def curve(seed: int, degree: int = 2, size: int = 6) -> Bezier:
    return Bezier(jax.random.normal(jax.random.key(seed), (degree + 1, size)))


@given(seed=st.integers(0, 1000), degree=st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_a_curve_starts_and_ends_where_it_should(seed, degree):
    path = curve(seed, degree)
    np.testing.assert_allclose(path.at(0.0), path.points[0], atol=1e-6)
    np.testing.assert_allclose(path.at(1.0), path.points[-1], atol=1e-6)


@given(seed=st.integers(0, 1000), t=UNIT)
@settings(max_examples=30, deadline=None)
def test_quadratic_curve_is_the_formula(seed, t):
    start, control, end = np.asarray(curve(seed).points, np.float64)
    expected = (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end
    np.testing.assert_allclose(curve(seed).at(t), expected, atol=1e-5)


@given(seed=st.integers(0, 1000), degree=st.integers(1, 5), t=UNIT)
@settings(max_examples=30, deadline=None)
def test_a_curve_of_any_degree_is_bernsteins_sum(seed, degree, t):
    points = np.asarray(curve(seed, degree).points, np.float64)
    terms = [math.comb(degree, j) * t**j * (1 - t) ** (degree - j) * points[j] for j in range(degree + 1)]
    np.testing.assert_allclose(curve(seed, degree).at(t), sum(terms), atol=1e-5)


@given(seed=st.integers(0, 1000), t_start=UNIT, t_end=UNIT)
@settings(max_examples=30, deadline=None)
def test_displacement_identity(seed, t_start, t_end):
    """Delta = (t_e - t_s)(end - start) + (t_e - t_s)(1 - t_s - t_e)(2 control - start - end)."""
    path = curve(seed)
    start, control, end = np.asarray(path.points, np.float64)
    length = t_end - t_start
    expected = length * (end - start) + length * (1 - t_start - t_end) * (2 * control - start - end)
    np.testing.assert_allclose(path.at(t_end) - path.at(t_start), expected, atol=2e-5)


@given(seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_greatest_distance_from_the_chord_is_an_eighth_of_the_curvature(seed):
    path = curve(seed)
    start, control, end = np.asarray(path.points, np.float64)
    curvature = 2 * np.linalg.norm(start - 2 * control + end)
    times = np.linspace(0, 1, 201)
    chord = start + times[:, None] * (end - start)
    gaps = np.linalg.norm(jax.vmap(path.at)(jnp.asarray(times)) - chord, axis=1)
    assert gaps.max() == pytest.approx(curvature / 8, rel=1e-3)


def test_pick_takes_one_of_many():
    many = Bezier(jnp.stack([curve(0).points, curve(1).points]))
    np.testing.assert_array_equal(paths.pick(many, 1).points, curve(1).points)


@pytest.fixture(scope="module")
def taught(small_cohort):
    settings = recipe.load("default", {"teachers.count": 3, "teachers.epochs": 10})
    data = prepare(small_cohort, small_cohort.split(0))
    model = MLP(data.x_train.shape[1], 1, 16, 0.25)
    task = teach.task(data.x_train, data.y_train, "aligned", np.array([0.5]))
    return model, teach.teach(model, task, settings.teachers, 0, every_epoch=True), task, settings


def draw(kind, taught, **changes):
    model, teachers, task, settings = taught
    quick = recipe.load(settings.model_dump(), {"path.steps": 5, **changes})
    return paths.PATHS[kind].draw(model, teachers, task, quick, lambda step: None)


PATHS = [("bezier", {}), ("line", {}), ("checkpoints", {}), ("convexified", {})]
PATHS += [("bezier", {"path.degree": 4}), ("convexified", {"path.anchors": 2})]
PATHS += [("convexified", {"path.beta": "projection"}), ("convexified", {"path.anchors": 11})]


@pytest.mark.parametrize(("kind", "changes"), PATHS)
def test_every_path_joins_its_teachers_ends_without_a_jump(taught, kind, changes):
    teachers, drawn = taught[1], draw(kind, taught, **changes)
    times = np.unique(np.concatenate([np.linspace(0, 1, 41), np.random.default_rng(0).random(10)])).astype(np.float32)
    for index in range(3):
        at = np.asarray(jax.vmap(paths.pick(drawn, index).at)(times), np.float64)
        np.testing.assert_allclose(at[0], teachers.starts[index], atol=1e-6)
        np.testing.assert_allclose(at[-1], teachers.ends[index], atol=1e-6)
        steps = np.linalg.norm(np.diff(at, axis=0), axis=1)
        assert steps.max() < 0.5 * np.linalg.norm(at[-1] - at[0])


@pytest.mark.parametrize(("kind", "changes"), PATHS)
def test_every_path_is_restored_from_what_is_stored(taught, kind, changes):
    model, teachers, _, _ = taught
    drawn = draw(kind, taught, **changes)
    stored = {name: np.asarray(array) for name, array in drawn.stored().items()}
    again = paths.PATHS[kind].restore(model, stored, teachers.starts, teachers.ends)
    for one, other in zip(jax.tree.leaves(drawn), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(one, other)


def test_checkpoints_are_the_epochs_themselves(taught):
    teachers, drawn = taught[1], draw("checkpoints", taught)
    for epoch in range(11):
        np.testing.assert_allclose(paths.pick(drawn, 1).at(epoch / 10), teachers.points[1, epoch], atol=1e-6)
    half = (teachers.points[1, 3] + teachers.points[1, 4]) / 2
    np.testing.assert_allclose(paths.pick(drawn, 1).at(0.35), half, atol=1e-6)


def test_convexified_by_hand():
    """Six epochs, two tensors of two and one parameters, three anchors at epochs 0, 3 and 6."""
    first = np.array([[0, 0], [3, 4], [3, 4], [9, 12], [9, 12], [9, 13], [9, 16]], np.float32)
    second = np.array([[0], [1], [3], [4], [4], [4], [4]], np.float32)
    points = np.concatenate([first, second], axis=1)[None]
    anchors, position = convexify(points, (2, 1), 3, "length")
    np.testing.assert_allclose(anchors[0], [[0, 0, 0], [6, 8, 3.5], [9, 16, 4]])
    np.testing.assert_allclose(position[0, :, 0], [0, 1 / 3, 1 / 3, 1, 1, 1.25, 2], atol=1e-6)
    np.testing.assert_allclose(position[0, :, 1], [0, 0.25, 0.75, 1, 1, 1, 2], atol=1e-6)
    path = paths.Convexified(jnp.asarray(anchors[0]), jnp.asarray(position[0]), (2, 1))
    np.testing.assert_allclose(path.at(1 / 6), [2, 8 / 3, 0.875], atol=1e-5)
    np.testing.assert_allclose(path.at(5 / 6), [6.75, 10, 3.5], atol=1e-5)
    np.testing.assert_allclose(path.at(1.5 / 6), [2, 8 / 3, 1.75], atol=1e-5)


def test_convexified_by_projection_by_hand():
    points = np.array([[[0, 0], [1, 2], [2, -2], [4, 0]]], np.float32)
    anchors, position = convexify(points, (1, 1), 2, "projection")
    np.testing.assert_allclose(anchors[0], [[0, 0], [4, 0]])
    np.testing.assert_allclose(position[0], np.repeat([[0], [0.25], [0.5], [1]], 2, axis=1))


def test_four_anchors_stand_at_thirds_of_a_hundred_epochs():
    points = np.arange(101, dtype=np.float32)[None, :, None] ** 2
    anchors, position = convexify(points, (1,), 4, "length")
    np.testing.assert_allclose(anchors[0, :, 0], [0, (32**2 + 34**2) / 2, (66**2 + 68**2) / 2, 100**2])
    assert [position[0, epoch, 0] for epoch in (0, 33, 67, 100)] == [0, 1, 2, 3]


@pytest.mark.parametrize("degree", [2, 3])
def test_fitting_lowers_the_loss_along_real_paths(taught, degree):
    model, teachers, task, settings = taught
    line = paths.profile(model, draw("line", taught), task)
    assert line.shape == (3, len(paths.PROFILE_TIMES))
    fitted = recipe.load(settings.model_dump(), {"path.degree": degree})
    drawn = Bezier.draw(model, teachers, task, fitted, lambda step: None)
    assert drawn.points.shape == (3, degree + 1, model.size)
    curve = paths.profile(model, drawn, task)
    assert (curve.mean(axis=1) < line.mean(axis=1)).all()
    np.testing.assert_allclose(curve[:, [0, -1]], line[:, [0, -1]], atol=1e-6)


def test_the_fit_takes_the_gradient_of_the_mean_loss_over_its_draws(taught):
    model, teachers, task, _ = taught
    start, end = jnp.asarray(teachers.starts), jnp.asarray(teachers.ends)
    control, key = (start + end) / 2, jax.random.key(4)
    points = jnp.stack([start, control, end], axis=1)
    moved, _ = fit_step(model, points, jnp.ones(3, bool), task, key, 0.5, 0.0, 5, 32)

    time_key, row_key = jax.random.split(key)
    times = jax.random.uniform(time_key, (5,))
    rows = jax.random.randint(row_key, (5, 32), 0, len(task.x))
    total = 0.0
    for t, row in zip(times, rows, strict=True):
        theta = (1 - t) ** 2 * start[1] + 2 * t * (1 - t) * control[1] + t**2 * end[1]
        part = train.Task(task.x[row], task.y[row], task.offset)
        total += 2 * t * (1 - t) * jax.grad(train.batch_loss, 1)(model, theta, part, None)
    np.testing.assert_allclose(moved[1, 1], control[1] - 0.5 * total / 5, atol=1e-6)
    np.testing.assert_array_equal(moved[:, [0, 2]], points[:, [0, 2]])


def test_a_path_below_the_tolerance_rests(taught):
    model, teachers, task, _ = taught
    points = straight(teachers, 2)
    resting = jnp.array([True, False, True])
    moved, moving = fit_step(model, points, resting, task, jax.random.key(0), 0.5, 0.0, 5, 32)
    np.testing.assert_array_equal(moved[1], points[1])
    assert moving.tolist() == [True, False, True]
    _, moving = fit_step(model, points, moving, task, jax.random.key(0), 0.5, 1e9, 5, 32)
    assert not moving.any()

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attar import paths, recipe, teach, train
from attar.models.mlp import MLP
from attar.paths import Bezier
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
    return model, teach.teach(model, task, settings.teachers, 0), task, settings


def test_fitting_lowers_the_loss_along_real_paths(taught):
    model, teachers, task, settings = taught
    drawn = paths.draw_bezier(model, teachers, task, settings)
    assert drawn.line_loss.shape == drawn.path_loss.shape == (3, len(paths.PROFILE_TIMES))
    assert (drawn.path_loss.mean(axis=1) < drawn.line_loss.mean(axis=1)).all()
    np.testing.assert_allclose(drawn.path_loss[:, [0, -1]], drawn.line_loss[:, [0, -1]], atol=1e-6)
    np.testing.assert_array_equal(drawn.paths.points[:, 0], teachers.starts)
    np.testing.assert_array_equal(drawn.paths.points[:, -1], teachers.ends)


def test_the_fit_takes_the_gradient_of_the_mean_loss_over_its_draws(taught):
    model, teachers, task, _ = taught
    start, end = jnp.asarray(teachers.starts), jnp.asarray(teachers.ends)
    control, key = (start + end) / 2, jax.random.key(4)
    moved, _ = paths.fit_step(model, start, control, end, jnp.ones(3, bool), task, key, 0.5, 0.0, 5, 32)

    time_key, row_key = jax.random.split(key)
    times = jax.random.uniform(time_key, (5,))
    rows = jax.random.randint(row_key, (5, 32), 0, len(task.x))
    total = 0.0
    for t, row in zip(times, rows, strict=True):
        theta = (1 - t) ** 2 * start[1] + 2 * t * (1 - t) * control[1] + t**2 * end[1]
        part = train.Task(task.x[row], task.y[row], task.offset)
        total += 2 * t * (1 - t) * jax.grad(train.batch_loss, 1)(model, theta, part, None)
    np.testing.assert_allclose(moved[1], control[1] - 0.5 * total / 5, atol=1e-6)


def test_a_path_below_the_tolerance_rests(taught):
    model, teachers, task, _ = taught
    start, end = jnp.asarray(teachers.starts), jnp.asarray(teachers.ends)
    control = (start + end) / 2
    moved, moving = paths.fit_step(
        model, start, control, end, jnp.array([True, False, True]), task, jax.random.key(0), 0.5, 0.0, 5, 32
    )
    np.testing.assert_array_equal(moved[1], control[1])
    assert moving.tolist() == [True, False, True]
    _, moving = paths.fit_step(model, start, control, end, moving, task, jax.random.key(0), 0.5, 1e9, 5, 32)
    assert not moving.any()

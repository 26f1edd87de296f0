"""The theorems on random problems: spectra, reachable spans, curves, predictions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attar import match
from attar.geometry import curves, spectrum
from attar.geometry.predictions import gaps, lipschitz, risks, steepness
from attar.geometry.prior import classes, split
from attar.geometry.reach import TOLERANCE, Union, measure, orthonormal, outside, walk
from attar.match import Lesson, Segment
from attar.models import flat
from attar.models.layout import Layout
from attar.models.mlp import MLP
from attar.models.tcn import TCN, Block
from attar.paths import Bezier

SEEDS = st.integers(0, 1000)
UNIT = st.floats(0, 1)


def low_rank(seed: int, rows: int, columns: int, rank: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, columns))


# Spectra


@given(seed=SEEDS, rows=st.integers(1, 30), columns=st.integers(1, 30))
@settings(max_examples=30, deadline=None)
def test_singular_values_from_the_gram_matrix(seed, rows, columns):
    moves = np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)
    found = spectrum.spectrum(moves)
    np.testing.assert_allclose(found.values, np.linalg.svd(moves.astype(float), compute_uv=False), atol=1e-5)
    assert found.energy == pytest.approx(np.sum(moves.astype(float) ** 2))
    assert found.cumulative[-1] == pytest.approx(1.0)


def test_of_two_long_sides_the_largest_values_are_found(monkeypatch):
    monkeypatch.setattr(spectrum, "LARGE", 80)
    moves = low_rank(0, 100, 120, 12)
    found = spectrum.spectrum(moves)
    assert (len(found.values), found.count) == (20, 100)
    np.testing.assert_allclose(found.values[:12], np.linalg.svd(moves, compute_uv=False)[:12], rtol=1e-6)
    assert found.rank_by_energy <= 12
    assert found.tail(12) == pytest.approx(0.0, abs=1e-6 * found.energy)


def test_blocks_of_columns_change_nothing(monkeypatch):
    rows = np.random.default_rng(0).standard_normal((4, 100)).astype(np.float32)
    whole = spectrum.gram(rows)
    monkeypatch.setattr(spectrum, "BLOCK", 7)
    np.testing.assert_allclose(spectrum.gram(rows), whole, rtol=1e-12)


@given(count=st.integers(1, 40))
@settings(max_examples=20, deadline=None)
def test_equal_directions_count_fully(count):
    found = spectrum.spectrum(3.0 * np.eye(count, 50))
    assert found.rank_by_entropy == pytest.approx(count)
    assert found.stable_rank == pytest.approx(count)
    assert found.rank_by_energy == int(np.ceil(0.95 * count - 1e-9))


def test_effective_ranks_by_hand():
    found = spectrum.spectrum(np.diag([3.0, 1.0]))
    assert found.stable_rank == pytest.approx(10 / 9)
    assert found.rank_by_entropy == pytest.approx(np.exp(-(0.9 * np.log(0.9) + 0.1 * np.log(0.1))))
    assert found.rank_by_energy == 2
    assert found.tail(1) == pytest.approx(1.0)


@given(seed=SEEDS, rank=st.integers(0, 8))
@settings(max_examples=30, deadline=None)
def test_the_tail_is_the_best_residual_of_any_span(seed, rank):
    rng = np.random.default_rng(seed)
    moves = rng.standard_normal((8, 20)) * np.geomspace(1, 0.05, 20)
    found = spectrum.spectrum(moves)
    best = outside(spectrum.directions(moves, rank), moves)
    assert np.sum(best**2) == pytest.approx(found.tail(rank), abs=1e-9 * found.energy)
    other = outside(orthonormal(rng.standard_normal((rank, 20))), moves)
    assert np.sum(other**2) >= found.tail(rank) - 1e-9 * found.energy


# What a student can reach


@given(seed=SEEDS, rank=st.integers(0, 5))
@settings(max_examples=20, deadline=None)
def test_a_basis_is_orthonormal_and_spans(seed, rank):
    vectors = low_rank(seed, 9, 30, rank)
    basis = orthonormal(vectors)
    assert basis.shape == (rank, 30)
    np.testing.assert_allclose(basis @ basis.T, np.eye(rank), atol=1e-12)
    np.testing.assert_allclose(outside(basis, vectors), 0.0, atol=1e-4)


SMALL_MLP = MLP(5, 2, 4, 0.0)
SMALL_TCN = TCN(Layout(6, 3, 1), 1, (Block((3,), 4),), 0.0)


def problem(model, seed: int, rows: int = 6) -> tuple[Segment, Lesson]:
    """A random segment and a random set; the network's own widths."""
    width = model.features if isinstance(model, MLP) else model.layout.width
    keys = jax.random.split(jax.random.key(seed), 4)
    start = model.init(keys[0])
    end = start + 0.3 * jax.random.normal(keys[1], start.shape)
    x = jax.random.normal(keys[2], (rows, width))
    y = (jax.random.uniform(keys[3], (rows, model.outputs)) < 0.5).astype(jnp.float32)
    return Segment(start, end), Lesson(x, y, jnp.float32(0.5))


@pytest.mark.parametrize("model", [SMALL_MLP, SMALL_TCN], ids=["mlp", "tcn"])
@pytest.mark.parametrize("seed", range(4))
def test_no_student_beats_the_bound(model, seed):
    """Theorem 1, to a ten-thousandth of the segment."""
    segment, lesson = problem(model, seed)
    found, basis = measure(model, segment, lesson, 7, flat.sizes(model.tensors))
    assert 0 < found.bound <= found.loss + TOLERANCE
    assert found.dimension == len(basis) <= 7
    end, _ = walk(model, segment.start, lesson, 7)
    moved = np.asarray(end, float) - np.asarray(segment.start, float)
    assert np.linalg.norm(outside(basis, moved)) < 1e-5 * np.linalg.norm(moved)
    reference = jax.jit(match.first_order, static_argnums=(0, 3))(model, segment, lesson, 7)
    assert found.loss == pytest.approx(float(reference.loss), rel=1e-4)
    assert found.asked.sum() == pytest.approx(1.0)
    assert found.missed.sum() == pytest.approx(found.loss)


def test_the_bound_is_reached_by_the_best_combination_of_the_gradients():
    segment, lesson = problem(SMALL_MLP, 0)
    found, _ = measure(SMALL_MLP, segment, lesson, 7, flat.sizes(SMALL_MLP.tensors))
    slopes = np.asarray(walk(SMALL_MLP, segment.start, lesson, 7)[1], float)
    move = np.asarray(segment.end - segment.start, float)
    left = np.linalg.lstsq(slopes.T, move, rcond=None)[1][0]
    assert found.bound == pytest.approx(left / (move @ move), rel=1e-4)


def test_a_segment_within_reach_has_no_bound_and_one_across_is_all_bound():
    segment, lesson = problem(SMALL_MLP, 1)
    end, _ = walk(SMALL_MLP, segment.start, lesson, 7)
    sizes = flat.sizes(SMALL_MLP.tensors)
    reachable, basis = measure(SMALL_MLP, Segment(segment.start, end), lesson, 7, sizes)
    assert reachable.bound < 1e-9
    across = outside(basis, np.asarray(segment.end - segment.start, float))
    blocked, _ = measure(SMALL_MLP, Segment(segment.start, segment.start + across), lesson, 7, sizes)
    assert blocked.bound == pytest.approx(1.0, abs=1e-5)


def test_batches_of_the_student_are_its_own():
    segment, lesson = problem(SMALL_MLP, 2)
    batched = lesson._replace(batches=jnp.array([[0, 1], [2, 3], [4, 5]]))
    found, _ = measure(SMALL_MLP, segment, batched, 3, flat.sizes(SMALL_MLP.tensors))
    reference = match.first_order(SMALL_MLP, segment, batched, 3)
    assert found.loss == pytest.approx(float(reference.loss), rel=1e-4)
    assert found.bound <= found.loss + TOLERANCE


@pytest.mark.parametrize("seed", range(4))
def test_the_union_bounds_the_mean_loss_and_undercuts_no_tail(seed):
    """Theorem 2: tail of that dimension <= residual outside the union <= mean bound <= mean loss."""
    model, union, found, moves = SMALL_MLP, Union(SMALL_MLP.size), [], []
    for part in range(5):
        segment, lesson = problem(model, 10 * seed + part)
        reached, basis = measure(model, segment, lesson, 3, flat.sizes(model.tensors))
        union.add(basis)
        found.append(reached)
        moves.append(np.asarray(segment.end - segment.start))
    shares = np.array([move / np.linalg.norm(move) for move in moves])
    assert union.segments == 5
    assert len(union.basis) == 15
    np.testing.assert_allclose(union.basis @ union.basis.T, np.eye(15), atol=1e-9)
    bound = union.bound(shares)
    assert spectrum.spectrum(shares).tail(15) / 5 - 1e-9 <= bound
    assert bound <= np.mean([each.bound for each in found]) + 1e-9
    assert bound <= np.mean([each.loss for each in found]) + TOLERANCE


def test_a_union_ends_when_it_is_everything_or_full(monkeypatch):
    whole = Union(6)
    for seed in range(4):
        whole.add(orthonormal(np.random.default_rng(seed).standard_normal((4, 6))))
    assert (len(whole.basis), whole.segments) == (6, 4)
    assert whole.bound(np.ones((4, 6))) < 1e-20
    monkeypatch.setattr("attar.geometry.reach.UNION_BYTES", 8 * 6 * 5)
    small = Union(6)
    for seed in range(4):
        small.add(orthonormal(np.random.default_rng(seed).standard_normal((4, 6))))
    assert (len(small.basis), small.segments) == (4, 1)


# Curves


def control_points(seed: int, size: int = 12) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((3, size))


def at(points: np.ndarray, t: float) -> np.ndarray:
    start, control, end = points
    return (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end


@given(seed=SEEDS, t_start=UNIT, t_end=UNIT)
@settings(max_examples=50, deadline=None)
def test_displacement_identity(seed, t_start, t_end):
    """Theorem 3, to float64."""
    points = control_points(seed)
    np.testing.assert_allclose(
        curves.displacement(points, t_start, t_end), at(points, t_end) - at(points, t_start), atol=1e-12
    )


@given(seed=SEEDS, teachers=st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_two_directions_a_curve(seed, teachers):
    """Theorem 3: rank at most 2 for a path, at most 2 M for M, and exactly that for curves in general position."""
    rng = np.random.default_rng(seed)
    moves = []
    for teacher in range(teachers):
        points = control_points(100 * seed + teacher)
        own = np.array([curves.displacement(points, *rng.uniform(size=2)) for _ in range(6)])
        assert len(orthonormal(own)) == 2
        np.testing.assert_allclose(outside(curves.basis(points), own), 0.0, atol=1e-12)
        moves.append(own)
    assert len(orthonormal(np.concatenate(moves))) == 2 * teachers


def test_a_straight_curve_has_one_direction():
    start, _, end = control_points(0)
    assert len(curves.basis(np.array([start, (start + end) / 2, end]))) == 1


@given(seed=SEEDS)
@settings(max_examples=20, deadline=None)
def test_the_bend_of_a_curve(seed):
    """Greatest distance from the chord kappa / 8, at t = 1/2; the second derivative is kappa everywhere."""
    points, times = control_points(seed), np.linspace(0, 1, 101)
    walked = np.array([at(points, t) for t in times])
    chord = points[0] + times[:, None] * (points[2] - points[0])
    gaps_there = np.linalg.norm(walked - chord, axis=1)
    assert gaps_there.max() == pytest.approx(curves.chord_distance(points), rel=1e-12)
    assert np.argmax(gaps_there) == 50
    np.testing.assert_allclose(curves.discrete_curvature(walked), curves.curvature(points), rtol=1e-6)
    assert curves.teacher_distance(walked) == pytest.approx(curves.curvature(points) / 8, rel=1e-12)


def test_a_teacher_is_farthest_from_its_chord_at_an_epochs_end():
    epochs = np.random.default_rng(0).standard_normal((6, 4))
    times = np.linspace(0, 1, 501)
    walked = np.array([[np.interp(t, np.linspace(0, 1, 6), column) for column in epochs.T] for t in times])
    chord = epochs[0] + times[:, None] * (epochs[-1] - epochs[0])
    dense = np.linalg.norm(walked - chord, axis=1).max()
    assert curves.teacher_distance(epochs) == pytest.approx(dense, rel=1e-9)


# Predictions


@pytest.mark.parametrize("model", [SMALL_MLP, SMALL_TCN], ids=["mlp", "tcn"])
def test_steepness_is_the_largest_singular_value_of_the_jacobian(model):
    segment, lesson = problem(model, 3)
    jacobian = jax.jit(jax.jacobian(lambda theta: risks(model, theta, lesson.x).ravel()))(segment.start)
    expected = np.linalg.svd(np.asarray(jacobian), compute_uv=False)[0]
    found = steepness(model, np.asarray(segment.start)[None], lesson.x)
    assert float(found[0]) == pytest.approx(float(expected), rel=0.02)


@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_predictions_along_a_curve_stay_near_those_of_a_teacher(seed):
    """Theorem 4 with the empirical constant, for a random training of four epochs and a random control point."""
    model, rng = SMALL_MLP, np.random.default_rng(seed)
    training = 0.5 * rng.standard_normal((5, model.size)).astype(np.float32)
    points = np.stack([training[0], 0.5 * rng.standard_normal(model.size).astype(np.float32), training[-1]])
    times = np.linspace(0, 1, 9, dtype=np.float32)
    curve = np.array(jax.vmap(Bezier(jnp.asarray(points)).at)(times))
    teacher = np.array([[np.interp(t, np.linspace(0, 1, 5), c) for c in training.T] for t in times], np.float32)
    patients = jnp.asarray(rng.standard_normal((10, 5)).astype(np.float32))
    constant = lipschitz(model, curve, teacher, patients)
    gap = np.asarray(gaps(model, curve, teacher, patients))
    assert gap.max() > 0
    assert np.all(gap <= constant * np.linalg.norm(curve - teacher, axis=1) * (1 + 1e-3) + 1e-6)
    assert gap.max() <= constant * (curves.chord_distance(points) + curves.teacher_distance(training))


# The prior


def test_a_moved_output_bias_moves_the_classes_alike(rng):
    model = MLP(5, 1, 4, 0.0)
    x, y = rng.standard_normal((60, 5)).astype(np.float32), (np.arange(60) % 3 == 0).astype(np.float32)[:, None]
    start = np.asarray(model.init(jax.random.key(0)))
    end = start.copy()
    end[-1] -= 2.0
    found = split(model, start[None], end[None], classes(model, x, y))
    assert found["output_bias"] == pytest.approx(1.0)
    assert found["by_tensor"]["hidden.weight"] == 0.0
    assert found["logit_shift"] == pytest.approx({"negative": -2.0, "positive": -2.0}, abs=1e-5)
    assert found["alike"] > found["apart"]
    assert found["alike"] + found["apart"] + found["rest"] == pytest.approx(1.0)

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attar import condense, drawing, initial, keeping, legal, match, moves, paths, recipe, teach
from attar.evaluate.utility import Scorer, left_out
from attar.models import student
from attar.models.mlp import MLP
from attar.patients import Patients, balanced
from attar.prepare import prepare
from attar.seeds import stream
from attar.state import Passed
from attar.train import fresh
from conftest import QUICK, SHORT


class Setting(NamedTuple):
    model: MLP
    drawn: paths.Bezier
    patients: Patients
    start: initial.Initial
    rules: legal.Legal
    scorer: Scorer

    def begin(self, resolved):
        return condense.begin(self.model, self.drawn, self.patients, self.start.x, self.start.y, resolved)

    def move(self, resolved, state, key):
        segment = drawing.draw_segment(self.drawn, resolved, key, state.iteration)
        seen = drawing.draw_patients(self.patients, resolved, key)
        return moves.move(self.model, segment, seen, self.rules, resolved, state, key)


@pytest.fixture(scope="module")
def setting(small_cohort):
    data = prepare(small_cohort, small_cohort.split(0))
    model = MLP(data.x_train.shape[1], 1, 16, 0.25)
    task = teach.task(data.x_train, data.y_train, "aligned", np.array([0.5]))
    resolved = recipe.load("default", QUICK)
    teachers = teach.teach(model, task, resolved.teachers, 0)
    drawn = paths.Bezier.draw(model, teachers, task, resolved, lambda step: None)
    start = initial.draw(data.x_train, data.y_train, 10, "real", np.random.default_rng(0))
    key = jax.random.key(3)
    scorer = Scorer.of(fresh(model, key, 2), key, data.x_validation, data.y_validation)
    patients = balanced(data.x_train, data.y_train)
    return Setting(model, drawn, patients, start, legal.legal(data.preparation), scorer)


def run(setting, state=None, watch=lambda state, chunk: None, **changes):
    model, drawn, patients, _, rules, scorer = setting
    resolved = recipe.load("default", {**QUICK, **changes})
    state = state or setting.begin(resolved)
    return condense.condense(model, drawn, patients, rules, scorer, resolved, state, watch)


DEFAULT = {
    "student.match": "predictions",
    "student.moments": 3,
    "student.gradient": "exact",
    "segments.length": 1.0,
}


def test_one_iteration_is_algorithm_1(setting):
    """Draw path and segment, follow it, move the inputs with momentum and the step size in log space."""
    start = setting.start
    resolved = recipe.load("default", {**QUICK, "inputs.rows": "free", "student.step_size": 1e-3})
    key = jax.random.fold_in(stream(0, "condense"), 0)
    loss, after = setting.move(resolved, setting.begin(resolved), key)

    path_key, segment_key = jax.random.split(key)
    path = paths.pick(setting.drawn, jax.random.randint(path_key, (), 0, 3))
    t = jax.random.uniform(segment_key, maxval=0.8)
    lesson = match.Lesson(jnp.asarray(start.x), jnp.asarray(start.y), jnp.float32(1e-3))
    expected = match.first_order(setting.model, match.Segment(path.at(t), path.at(t + 0.2)), lesson, 30)
    np.testing.assert_allclose(loss, expected.loss, rtol=1e-5)
    np.testing.assert_allclose(after.x, start.x - 10.0 * expected.inputs, atol=1e-5)
    log_step = np.log(1e-3) - resolved.inputs.student_rate * 1e-3 * expected.step_size
    np.testing.assert_allclose(after.log_step, log_step, rtol=1e-5)
    assert int(after.iteration) == 1


def test_the_default_follows_the_whole_curve_in_predictions(setting):
    assert DEFAULT.items() <= recipe.load().flat().items()
    resolved = recipe.load("default", {**QUICK, **DEFAULT, "inputs.rows": "free", "student.step_size": 0.01})
    key = jax.random.key(4)
    loss, after = setting.move(resolved, setting.begin(resolved), key)
    path = paths.pick(setting.drawn, jax.random.randint(jax.random.split(key)[0], (), 0, 3))
    third, two_thirds = (path.at(jnp.float32(share)) for share in (1 / 3, 2 / 3))
    segment = match.Segment(path.at(0.0), path.at(1.0), between=jnp.stack([third, two_thirds]))
    seen = drawing.draw_patients(setting.patients, resolved, key)
    lesson = match.Lesson(jnp.asarray(setting.start.x), jnp.asarray(setting.start.y), jnp.float32(0.01), patients=seen)
    expected = match.exact(setting.model, segment, lesson, 30)
    np.testing.assert_allclose(loss, expected.loss, rtol=1e-4)
    np.testing.assert_allclose(after.x, setting.start.x - 10.0 * expected.inputs, atol=1e-4)


def test_a_row_moves_as_far_in_a_set_twice_as_large(setting):
    resolved = recipe.load("default", {**QUICK, "inputs.per_row": True, "inputs.step_size": 0.5, "inputs.rows": "free"})
    key, start = jax.random.key(5), setting.start
    twice = start._replace(x=np.concatenate([start.x, start.x]), y=np.concatenate([start.y, start.y]))
    alone, among = (
        each.move(resolved, each.begin(resolved)._replace(log_step=jnp.log(1e-3)), key)[1].x
        for each in (setting, setting._replace(start=twice))
    )
    assert np.abs(alone - start.x).max() > 1e-3
    np.testing.assert_allclose(among[: len(start.x)], alone, atol=1e-5)


def test_rows_harden_little_by_little_and_steps_fall_to_nothing(setting):
    settings = {**QUICK, "inputs.iterations": 100, "inputs.harden": 0.5, "inputs.decay": 0.25}
    resolved = recipe.load("default", settings)
    x = jnp.asarray(setting.start.x + 0.3)
    legal_rows = setting.rules.nearest(x)
    for iteration, way in ((0, 0.0), (25, 0.5), (50, 1.0), (90, 1.0)):
        seen = moves.hardened(setting.rules, x, resolved, jnp.int32(iteration))
        np.testing.assert_allclose(seen, x + way * (legal_rows - x), atol=1e-5)
    steps = [float(moves.falling(resolved, jnp.float32(done))) for done in (0.0, 0.75, 0.9, 1.0)]
    np.testing.assert_allclose(steps, [1.0, 1.0, 0.4, 0.0], atol=1e-6)
    at_once = recipe.load("default", {**settings, "inputs.harden": 0.0, "inputs.decay": 0.0})
    np.testing.assert_allclose(moves.hardened(setting.rules, x, at_once, jnp.int32(0)), legal_rows, atol=1e-6)
    assert moves.falling(at_once, jnp.float32(0.99)) == 1.0


def test_matching_loss_falls_on_real_patients(setting):
    losses = []
    run(setting, watch=lambda state, chunk: losses.append(np.asarray(chunk.loss)), **{"inputs.iterations": 400})
    loss = np.concatenate(losses)
    assert len(loss) == 400
    assert loss[-100:].mean() < 0.9 * loss[:20].mean()


def test_continuing_from_any_chunk_gives_the_same_bytes(setting, monkeypatch):
    monkeypatch.setattr(condense, "CHUNK", 2)
    states = []
    whole = run(setting, watch=lambda state, chunk: states.append(state))
    assert len(states) == 3
    for state in states[:-1]:
        again = run(setting, state=state)
        for one, other in zip(whole, again, strict=True):
            np.testing.assert_array_equal(one, other)


def test_iterations_that_are_no_multiple_of_the_snapshots(setting):
    seen = []
    state = run(
        setting,
        watch=lambda state, chunk: seen.append((len(chunk.loss), len(chunk.score))),
        **{"inputs.iterations": 47},
    )
    assert int(state.iteration) == 47 == sum(iterations for iterations, _ in seen)
    assert sum(scores for _, scores in seen) == 5


def test_best_is_the_snapshot_with_the_best_validation_score(setting):
    scores = []
    state = run(
        setting, watch=lambda state, chunk: scores.append(np.asarray(chunk.score)), **{"selection.keep": "best"}
    )
    scores = np.concatenate(scores)
    assert int(state.kept_iteration) == 10 * (scores.argmax() + 1)
    settings = recipe.load("default", QUICK).selection
    again = setting.scorer.score(setting.model, state.kept_x[None], state.kept_y[None], settings)
    np.testing.assert_allclose(again[0, 0], scores.max(), rtol=1e-5)
    np.testing.assert_allclose(setting.rules.nearest(state.kept_x), state.kept_x, atol=1e-5)


def test_a_run_keeps_its_latest_set_among_equals(setting):
    """Selection by "latest" within the loop: what is kept scores within chance of the best, and comes no earlier."""
    rest = jnp.asarray(left_out(np.asarray(setting.scorer.y[: setting.scorer.rows]), keeping.GROUPS["latest"]))
    scores, changes = [], {"selection.keep": "latest"}
    careful = setting._replace(scorer=replace(setting.scorer, rest=rest))
    state = run(careful, watch=lambda state, chunk: scores.append(np.asarray(chunk.score)), **changes)
    scores = np.concatenate(scores)
    assert int(state.kept_iteration) >= 10 * (scores.argmax() + 1)
    np.testing.assert_allclose(state.kept_score, scores[int(state.kept_iteration) // 10 - 1], rtol=1e-5)
    np.testing.assert_allclose(state.best_scores[0], scores.max(), rtol=1e-5)


def test_latest_is_the_last_snapshot_that_is_not_worse_than_the_best_beyond_chance():
    """Three snapshots: the best, one a little worse by chance, one clearly worse on every group of patients."""
    noise = 0.05 * np.random.default_rng(0).standard_normal((3, keeping.GROUPS["latest"]))
    noise[2] = noise[0]
    scores = jnp.asarray(np.concatenate([np.zeros((3, 1)), noise], axis=1) + np.array([[0.5], [0.48], [0.4]]))
    start = jnp.full(1 + keeping.GROUPS["latest"], -1.0)
    passed = {}
    for keep in ("latest", "best"):
        snapshots = scores, jnp.ones(3, bool)
        best, kept = jax.lax.scan(lambda best, one, keep=keep: keeping.consider(keep, best, one), start, snapshots)
        np.testing.assert_array_equal(best, scores[0])
        passed[keep] = kept.tolist()
    assert passed == {"latest": [True, True, False], "best": [True, False, False]}


@pytest.mark.parametrize(("keep", "kept"), [("latest", 80), ("best", 10)])
def test_a_lucky_snapshot_of_the_first_iterations_counts_only_as_best(setting, keep, kept):
    """Eight snapshots of 80 iterations, the first the luckiest, rows legal from the 56th on."""
    resolved = recipe.load("default", {**QUICK, "selection.keep": keep, "inputs.iterations": 80, "inputs.harden": 0.7})
    scores = jnp.full((8, 1 + keeping.GROUPS[keep]), 0.5).at[0].set(0.9)
    snapshots = jnp.arange(8.0)[:, None, None]
    passed = Passed(scores, scores, snapshots, snapshots, 10 * jnp.arange(1, 9))
    state = keeping.choose(resolved, setting.begin(resolved), passed, scores)
    assert int(state.kept_iteration) == kept


@pytest.mark.parametrize(
    "changes", [{"student.step_size": 1e4, "inputs.student_rate": 50.0}, {"inputs.step_size": 1e9}]
)
def test_guards_keep_everything_finite_and_the_step_size_positive(setting, changes):
    state = run(setting, **changes, **{"inputs.rows": "free"})
    assert int(state.skipped) > 0
    assert int(state.rollbacks) > 0
    assert float(state.reach) == 0.5 ** int(state.rollbacks)
    assert np.isfinite(state.x).all()
    assert np.isfinite(state.kept_x).all()
    assert float(jnp.exp(state.log_step)) > 0


@pytest.mark.parametrize("changes", [{}, DEFAULT], ids=["parameters", "predictions"])
def test_the_search_finds_the_step_size_with_the_least_matching_loss(setting, changes):
    model, drawn, patients, start, *_ = setting
    resolved = recipe.load("default", {**QUICK, **changes})
    found = float(jnp.exp(setting.begin(resolved).log_step))

    @jax.jit
    def segment_loss(key, step_size):
        segment = drawing.draw_segment(drawn, resolved, key, jnp.int32(0))
        seen, theta, reached = drawing.draw_patients(patients, resolved, key), segment.start, []
        for _ in segment.targets:
            steps = 30 // len(segment.targets)
            theta = student.follow(model, theta, jnp.asarray(start.x), jnp.asarray(start.y), step_size, steps)[0]
            reached.append(theta)
        return match.distance(model, segment, seen, jnp.stack(reached))[0]

    def loss(step_size):
        return np.mean([segment_loss(key, step_size) for key in jax.random.split(stream(0, "search"), 16)])

    assert loss(found) < 1.0
    assert loss(found) < min(loss(found * 3), loss(found / 3))


def test_a_segment_that_is_next_to_nothing_is_drawn_again():
    """A training that stands still after its first epoch: only the first segment is worth matching."""
    points = jnp.zeros((1, 6, 3)).at[:, 1:].set(1.0)
    resolved = recipe.load("default", {**SHORT, "method": "mtt", "teachers.epochs": 5, "segments.epochs": 1})
    keys = jax.random.split(jax.random.key(0), 40)
    drawn = jax.vmap(lambda key: drawing.draw_segment(paths.Checkpoints(points), resolved, key, jnp.int32(0)))(keys)
    lengths = jnp.linalg.norm(drawn.end - drawn.start, axis=1)
    assert 0.7 < (lengths > 1).mean() < 1, "eight draws of five find it five times in six"
    model = MLP(1, 1, 1, 0.0)
    loss, gradient = jax.vmap(lambda point, segment: match.distance(model, segment, None, point))(
        jnp.zeros((40, 1, 3)), drawn
    )
    assert np.isfinite(loss).all(), "the length that the loss divides by is floored"
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize(("batch", "shape"), [("all", None), ("auto", None), (8, (30, 8)), (20, None)])
def test_batches_see_a_row_at_most_once_a_pass(batch, shape):
    resolved = recipe.load("default", {"per_class": 10, "student.batch": batch})
    batches = drawing.draw_batches(resolved, 20, 30, jax.random.key(0))
    if shape is None:
        assert batches is None
        return
    assert batches.shape == shape
    for first in range(0, 30, 2):
        assert len(set(np.asarray(batches[first : first + 2]).ravel().tolist())) == 16


def one_move(setting, **changes):
    """Take one iteration from the start; return what it moved and what the loop's gradient was."""
    start = setting.start
    resolved = recipe.load("default", {**QUICK, "inputs.rows": "free", "student.step_size": 1e-3, **changes})
    begin, key = setting.begin(resolved), jax.random.key(1)
    _, after = setting.move(resolved, begin, key)
    batches = drawing.draw_batches(resolved, len(start.x), 30, jax.random.fold_in(key, drawing.BATCHES))
    seen = drawing.draw_patients(setting.patients, resolved, key)
    lesson = match.Lesson(begin.x, begin.y, jnp.exp(begin.log_step), batches, seen)
    segment = drawing.draw_segment(setting.drawn, resolved, key, begin.iteration)
    gradient = match.GRADIENTS[resolved.student.gradient]
    return start, after, gradient(setting.model, segment, lesson, 30, resolved.inputs.labels == "learned")


def test_learned_labels_move_within_their_range_and_hard_ones_do_not(setting):
    start, after, _ = one_move(setting)
    np.testing.assert_array_equal(after.y, start.y)
    start, after, gradient = one_move(setting, **{"inputs.labels": "learned", "inputs.label_step": 1e4})
    np.testing.assert_allclose(after.y, np.clip(start.y - 1e4 * gradient.labels, 0, 1), atol=1e-4)
    assert 0 < float(jnp.abs(after.y - start.y).max()) <= 1


def test_the_moving_average_lags_behind_the_inputs(setting):
    start, after, _ = one_move(setting, **{"inputs.average": 0.0})
    np.testing.assert_array_equal(after.average, after.x)
    start, after, _ = one_move(setting, **{"inputs.average": 0.9})
    np.testing.assert_allclose(after.average, 0.9 * start.x + 0.1 * after.x, atol=1e-5)


def test_the_loop_takes_the_gradient_that_was_asked_for(setting):
    gradients = []
    for changes in ({}, {"student.batch": 8}, {"student.gradient": "exact"}):
        start, after, gradient = one_move(setting, **changes)
        np.testing.assert_allclose(after.x, start.x - 10.0 * gradient.inputs, atol=1e-5)
        gradients.append(np.asarray(gradient.inputs))
    assert not np.allclose(gradients[0], gradients[1], rtol=1e-3)
    assert not np.allclose(gradients[0], gradients[2], rtol=1e-3)


STAY = {"stay.iterations": 60, "stay.steps": 20, "stay.least": 10, "stay.window": 10, "inputs.harden": 0.5}


def test_students_stay_after_they_followed_and_agree_more_and_more_with_the_teachers(setting):
    losses, scored = [], []

    def watch(state, chunk):
        losses.append(np.asarray(chunk.loss))
        scored.append(np.asarray(chunk.scored))

    changes = {
        **STAY,
        "inputs.iterations": 45,
        "stay.iterations": 400,
        "selection.keep": "latest",
        "inputs.average": 0.9,
    }
    rest = jnp.asarray(left_out(np.asarray(setting.scorer.y[: setting.scorer.rows]), keeping.GROUPS["latest"]))
    state = run(setting._replace(scorer=replace(setting.scorer, rest=rest)), watch=watch, **changes)
    every = np.concatenate(scored)
    assert every.tolist() == [10, 20, 30, 40, 45, *range(55, 446, 10)], "snapshots end where the first part ends"
    assert len(np.concatenate(losses)) == int(state.iteration) == 445
    staying = np.concatenate(losses)[45:]
    assert staying[200:].mean() < 0.8 * staying[:20].mean()
    assert int(state.kept_iteration) >= 245, "only versions whose rows are legal count"
    np.testing.assert_allclose(setting.rules.nearest(state.kept_x), state.kept_x, atol=1e-5)


@pytest.mark.parametrize("stop", [60, 80])
def test_a_stopped_run_goes_on_to_the_same_bytes_in_either_part(setting, stop):
    states = {}
    run(setting, watch=lambda state, chunk: states.setdefault(int(state.iteration), state), **STAY)
    seen = min(iteration for iteration in states if iteration >= stop)
    whole, again = states[max(states)], run(setting, states[seen], **STAY)
    for name, one, other in zip(whole._fields, whole, again, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=name)

import jax
import jax.numpy as jnp
import numpy as np

from attar import drawing, match, moves, paths, recipe
from attar.seeds import stream
from conftest import QUICK
from setting import MATCHING


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
    assert MATCHING.items() <= recipe.load().flat().items()
    resolved = recipe.load("default", {**QUICK, **MATCHING, "inputs.rows": "free", "student.step_size": 0.01})
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

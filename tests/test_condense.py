from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attar import condense, drawing, keeping, match, recipe
from attar.evaluate.utility import left_out
from attar.models import student
from attar.seeds import stream
from conftest import QUICK
from setting import MATCHING


def run(setting, state=None, watch=lambda state, chunk: None, **changes):
    model, _, drawn, patients, _, rules, scorer = setting
    resolved = recipe.load("default", {**QUICK, **changes})
    state = state or setting.begin(resolved)
    return condense.condense(model, drawn, patients, rules, scorer, resolved, state, watch)


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


@pytest.mark.parametrize("changes", [{}, MATCHING], ids=["parameters", "predictions"])
def test_the_search_finds_the_step_size_with_the_least_matching_loss(setting, changes):
    model, _, drawn, patients, start, *_ = setting
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

"""The outer loop: move the condensed patients until students follow the paths and stay at their ends; keep the best."""

import math
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from attar.drawing import draw_patients, draw_segment, seedless
from attar.evaluate.utility import Scorer
from attar.keeping import GROUPS, choose
from attar.legal import Legal
from attar.match import Lesson, Segment, distance, follow_own, walk
from attar.models import Model
from attar.moves import hold, move, shown
from attar.paths import Path
from attar.patients import Patients
from attar.recipe import Recipe, Selection
from attar.seeds import stream
from attar.state import Chunk, Passed, State
from attar.stay import Goal, goal

CHUNK = 20
"""Snapshots at most between two looks at the world: progress, saving, interruption."""

SEARCH_STEP_SIZES = np.geomspace(1e-4, 1.0, 25, dtype=np.float32)
SEARCH_SEGMENTS, SEARCH_UNITS = 16, 2**18
"""Segments on which a first step size is tried: fewer, but two, if all their hidden units are more than this."""


def begin(model: Model, paths: Path, patients: Patients, x: np.ndarray, y: np.ndarray, recipe: Recipe) -> State:
    """Return the state before the first iteration, in the very types of later ones: the loop is compiled once."""
    inputs, labels = jnp.asarray(x), jnp.asarray(y)
    zero, count = jnp.zeros(()), jnp.zeros((), jnp.int32)
    step_size = recipe.student.step_size
    if step_size == "search":
        tries = max(2, min(SEARCH_SEGMENTS, SEARCH_UNITS // math.prod(model.units(len(x)))))
        keys = jax.random.split(stream(recipe.seed, "search"), tries)
        drawn = [draw_segment(paths, seedless(recipe), key, count) for key in keys]
        seen = [draw_patients(patients, recipe, key) for key in keys]
        segments, seen = jax.tree.map(lambda *parts: jnp.stack(parts), *zip(drawn, seen, strict=True))
        step_size = search_step_size(model, segments, seen, inputs, labels, recipe.student.steps)
    log_step = jnp.log(jnp.asarray(step_size, jnp.float32))
    state = State(
        iteration=count,
        x=inputs,
        velocity=jnp.zeros_like(inputs),
        square=zero,
        average=inputs,
        y=labels,
        label_velocity=jnp.zeros_like(labels),
        log_step=log_step,
        log_step_velocity=zero,
        reach=jnp.ones(()),
        good_x=inputs,
        good_average=inputs,
        good_y=labels,
        good_log_step=log_step,
        streak=count,
        skipped=count,
        rollbacks=count,
        kept_x=inputs,
        kept_y=labels,
        kept_score=zero,
        kept_iteration=count,
        best_scores=jnp.full(1 + GROUPS[recipe.selection.keep], -1.0),
    )
    return jax.tree.map(lambda part: jnp.asarray(np.asarray(part)), state)


@partial(jax.jit, static_argnames=("model", "steps"))
def search_step_size(model: Model, segments: Segment, seen: Array | None, x: Array, y: Array, steps: int) -> Array:
    """Return the step size with which a student of the untouched set comes closest to sampled segments.

    A student that overshoots by far has no useful gradient, and how far is too far differs between cohorts by orders of
    magnitude.
    """

    def loss(step_size: Array, segment: Segment, seen: Array | None) -> Array:
        lesson = Lesson(x, y, step_size)
        way = walk(follow_own(model, lesson), segment, lesson, steps)
        return distance(model, segment, seen, way.reached)[0]

    def mean_loss(step_size: Array) -> Array:
        return jnp.mean(jax.vmap(partial(loss, step_size))(segments, seen))

    losses = lax.map(mean_loss, jnp.asarray(SEARCH_STEP_SIZES))
    return jnp.asarray(SEARCH_STEP_SIZES)[jnp.argmin(jnp.where(jnp.isfinite(losses), losses, jnp.inf))]


def condense(
    model: Model,
    paths: Path,
    patients: Patients,
    legal: Legal,
    scorer: Scorer,
    recipe: Recipe,
    state: State,
    watch: Callable[[State, Chunk], None] = lambda state, chunk: None,
) -> State:
    """Run the outer loop from `state` to its end; `watch` sees the state after each chunk of snapshots."""
    every, follows = recipe.selection.every, recipe.inputs.iterations
    key, wanted = stream(recipe.seed, "condense"), None
    while (done := int(state.iteration)) < recipe.iterations:
        if done >= follows and wanted is None:
            wanted = goal(model, paths, patients)
        if done == follows:
            state = turn(state)
        left = (follows if done < follows else recipe.iterations) - done
        snapshots = max(1, min(CHUNK, scorer.together(model, len(state.x)), left // every))
        length = min(every, left)
        state, passed = run_chunk(
            model, paths, patients, wanted, legal, seedless(recipe), state, key, snapshots, length
        )
        scores = score(model, scorer, recipe.selection, passed.inputs, passed.labels)
        state = choose(seedless(recipe), state, passed, scores)
        watch(state, Chunk(passed.loss.ravel(), passed.step_size.ravel(), passed.iterations, scores[:, 0]))
    return state


def turn(state: State) -> State:
    """Return the state with which students begin to stay: the patients averaged so far, at rest."""
    return state._replace(
        x=state.average,
        velocity=jnp.zeros_like(state.velocity),
        label_velocity=jnp.zeros_like(state.label_velocity),
        reach=jnp.ones_like(state.reach),
        good_x=state.average,
        streak=jnp.zeros_like(state.streak),
    )


@partial(jax.jit, static_argnames=("model", "recipe", "snapshots", "every"))
def run_chunk(
    model: Model,
    paths: Path,
    patients: Patients,
    wanted: Goal | None,
    legal: Legal,
    recipe: Recipe,
    state: State,
    key: Array,
    snapshots: int,
    every: int,
) -> tuple[State, Passed]:
    """Take snapshots x every iterations: students follow the paths, or, if a goal is given, stay there.

    Compiled apart from `score`, whose shapes depend on the validation split.
    """

    def iterate(state: State, _: None) -> tuple[State, tuple[Array, Array]]:
        step_key = jax.random.fold_in(key, state.iteration)
        if wanted is not None:
            loss, state = hold(model, wanted, legal, recipe, state, step_key)
            return state, (loss, jnp.exp(state.log_step))
        segment = draw_segment(paths, recipe, step_key, state.iteration)
        seen = draw_patients(patients, recipe, step_key)
        loss, state = move(model, segment, seen, legal, recipe, state, step_key)
        return state, (loss, jnp.exp(state.log_step))

    def snapshot(state: State, _: None) -> tuple[State, Passed]:
        state, (loss, step_size) = lax.scan(iterate, state, None, length=every)
        fine = state.streak == 0
        state = state._replace(
            good_x=jnp.where(fine, state.x, state.good_x),
            good_average=jnp.where(fine, state.average, state.good_average),
            good_y=jnp.where(fine, state.y, state.good_y),
            good_log_step=jnp.where(fine, state.log_step, state.good_log_step),
        )
        return state, Passed(loss, step_size, shown(legal, state.average, recipe), state.y, state.iteration)

    return lax.scan(snapshot, state, None, length=snapshots)


@partial(jax.jit, static_argnames=("model", "settings"))
def score(model: Model, scorer: Scorer, settings: Selection, inputs: Array, labels: Array) -> Array:
    """Score snapshots on the validation split: [snapshots, 1 + groups]."""
    return scorer.score(model, inputs, labels, settings)

"""The outer loop: move the condensed patients until students follow the paths and stay at their ends; keep the best."""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from attar.evaluate.utility import Scorer, jackknife_error
from attar.legal import Legal
from attar.match import GRADIENTS, Lesson, Segment, distance, follow_own, walk
from attar.models import Model
from attar.paths import Path, pick
from attar.patients import Patients
from attar.recipe import Recipe, Selection
from attar.seeds import stream
from attar.segments import SAMPLERS
from attar.stay import Goal, goal, learn

CHUNK = 20
"""Snapshots at most between two looks at the world: progress, saving, interruption."""

PATIENCE = 10
"""Steps skipped in a row after which inputs and step size go back to the last good ones, and from there half as far."""

SEARCH_STEP_SIZES = np.geomspace(1e-4, 1.0, 25, dtype=np.float32)
SEARCH_SEGMENTS, SEARCH_UNITS = 16, 2**18
"""Segments on which a first step size is tried: fewer, but two, if all their hidden units are more than this."""

SHORTEST = 0.01
"""A segment is next to nothing below this share of a straight, even walk over the same time: it is drawn again."""

DRAWS = 8
"""How often at most."""

TINY = 1e-12
"""Size of gradients below which they are nothing."""

GROUPS = {"best": 0, "latest": 10}
"""Groups of validation patients that are left out in turn, to learn how much of a difference in scores is chance."""

BATCHES, PATIENTS = 2, 100
"""Numbers of an iteration's key from which its batches and its patients are drawn; 0 and 1 are of path and segment."""

SQUARES = 0.99
"""Decay of the mean square of gradients that steps are divided by once the paths are followed."""


class State(NamedTuple):
    """Everything the outer loop carries; saved, it continues to the same bytes."""

    iteration: Array
    x: Array
    velocity: Array
    square: Array
    average: Array
    y: Array
    label_velocity: Array
    log_step: Array
    log_step_velocity: Array
    reach: Array
    good_x: Array
    good_average: Array
    good_y: Array
    good_log_step: Array
    streak: Array
    skipped: Array
    rollbacks: Array
    kept_x: Array
    kept_y: Array
    kept_score: Array
    kept_iteration: Array
    best_scores: Array


class Chunk(NamedTuple):
    """What happened in a chunk: per iteration loss and step size, per snapshot its iteration and validation AUPRC."""

    loss: Array | np.ndarray
    step_size: Array | np.ndarray
    scored: Array | np.ndarray
    score: Array | np.ndarray


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


def seedless(recipe: Recipe) -> Recipe:
    """Return the recipe as jit sees it, so that another seed does not compile again."""
    return recipe.model_copy(update={"seed": 0})


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


@partial(jax.jit, static_argnames="recipe")
def draw_segment(paths: Path, recipe: Recipe, key: Array, iteration: Array) -> Segment:
    """Draw a path and a segment of it; again, a few times at most, while the segment is next to nothing.

    The matching loss divides by a segment's length, which late in a training can be almost zero; it is floored there.
    """
    sampler, count = SAMPLERS[recipe.segments.sampler], len(jax.tree.leaves(paths)[0])
    moments = jnp.linspace(0.0, 1.0, count_moments(recipe) + 1)[1:-1]

    def draw(key: Array) -> tuple[Segment, Array]:
        path_key, segment_key = jax.random.split(key)
        path = pick(paths, jax.random.randint(path_key, (), 0, count))
        t_start, t_end = sampler.draw(segment_key, recipe, iteration)
        even = (t_end - t_start) * jnp.linalg.norm(path.at(jnp.float32(1.0)) - path.at(jnp.float32(0.0)))
        between = jax.vmap(path.at)(t_start + moments * (t_end - t_start)) if len(moments) else None
        segment = Segment(path.at(t_start), path.at(t_end), SHORTEST * even, between)
        return segment, jnp.linalg.norm(segment.end - segment.start) < segment.shortest

    def again(state: tuple[Array, Segment, Array]) -> tuple[Array, Segment, Array]:
        count = state[0]
        return (count + 1, *draw(lax.select(count == 0, key, jax.random.fold_in(key, BATCHES + count))))

    nothing = jax.tree.map(lambda part: jnp.zeros(part.shape, part.dtype), jax.eval_shape(draw, key)[0])
    undrawn = (jnp.int32(0), nothing, jnp.array(True))
    return lax.while_loop(lambda state: state[2] & (state[0] < DRAWS), again, undrawn)[1]


def count_moments(recipe: Recipe) -> int:
    """Count the moments at which a student is compared with its path: each ends as many steps as the others."""
    steps, most = recipe.student.steps, recipe.student.moments
    return max(count for count in range(1, most + 1) if steps % count == 0)


def draw_batches(recipe: Recipe, rows: int, steps: int, key: Array) -> Array | None:
    """Draw which rows each student step sees, [steps, batch], in passes over all whole batches; None if it sees all."""
    named = {"all": rows, "auto": max(2 * recipe.per_class, 256)}
    batch = named.get(str(recipe.student.batch)) or int(recipe.student.batch)
    if batch >= rows:
        return None
    passes = -(-steps // (rows // batch))
    orders = jax.vmap(lambda key: jax.random.permutation(key, rows))(jax.random.split(key, passes))
    return orders[:, : rows // batch * batch].reshape(-1, batch)[:steps]


def draw_patients(patients: Patients, recipe: Recipe, key: Array) -> Array | None:
    """Draw the real patients on whom an iteration compares predictions; None if it compares parameters."""
    if recipe.student.match == "parameters":
        return None
    return patients.draw(jax.random.fold_in(key, PATIENTS), recipe.student.patients)


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


class Passed(NamedTuple):
    """A chunk before its snapshots are scored: loss and step size [snapshots, every], and the snapshots themselves."""

    loss: Array
    step_size: Array
    inputs: Array
    labels: Array
    iterations: Array


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


@partial(jax.jit, static_argnames="recipe")
def choose(recipe: Recipe, state: State, passed: Passed, scores: Array) -> State:
    """Return the state with the snapshot that is to be kept of all so far.

    "latest" looks only at those whose students saw legal rows: one of the first can be lucky, and is next to unmoved.
    """
    keep = recipe.selection.keep
    since = legal_since(recipe) if keep == "latest" else 0
    counts = passed.iterations >= since
    best, fine = lax.scan(partial(consider, keep), state.best_scores, (scores, counts))
    latest = len(scores) - 1 - jnp.argmax(fine[::-1])
    some = fine.any()
    return state._replace(
        kept_x=jnp.where(some, passed.inputs[latest], state.kept_x),
        kept_y=jnp.where(some, passed.labels[latest], state.kept_y),
        kept_score=jnp.where(some, scores[latest, 0], state.kept_score),
        kept_iteration=jnp.where(some, passed.iterations[latest], state.kept_iteration),
        best_scores=best,
    )


def consider(keep: str, best: Array, snapshot: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the best scores so far, and whether a snapshot is to be kept in place of earlier ones.

    It has scores, those of `Scorer`, and counts or does not. Validation scores of one snapshot after another differ
    mostly by chance, and the best of hundreds is the luckiest: "latest" keeps every snapshot that is not worse than the
    best by more than the standard error of the difference, so the last of them stays.
    """
    scores, counts = snapshot
    best = jnp.where(counts & (scores[0] > best[0]), scores, best)
    allowed = jackknife_error(best[1:] - scores[1:]) if keep == "latest" else 0.0
    return best, counts & (best[0] - scores[0] <= allowed)


def shown(legal: Legal, x: Array, recipe: Recipe) -> Array:
    """Return the patients as they are scored and exported: the legal rows nearest to x, or x itself."""
    return legal.nearest(x) if recipe.inputs.rows == "legal" else x


def hardened(legal: Legal, x: Array, recipe: Recipe, iteration: Array) -> Array:
    """Return the patients that students see: on their way from x to those shown, the further the more iterations ran.

    A flag that is 0 or 1 from the first iteration on moves only by jumps, and the rest has to follow each of them.
    """
    first, last = last_part(recipe)[0], legal_since(recipe)
    way = (iteration - first) / (last - first) if recipe.inputs.harden else 1.0
    return x + jnp.clip(way, 0.0, 1.0) * (shown(legal, x, recipe) - x)


def last_part(recipe: Recipe) -> tuple[int, int]:
    """Return where the last part of a run begins and ends: students stay, or, if none do, follow the paths."""
    return (recipe.inputs.iterations if recipe.stay.iterations else 0), recipe.iterations


def legal_since(recipe: Recipe) -> float:
    """Return the iteration from which on students see legal rows: they harden in the last part of a run."""
    first, last = last_part(recipe)
    return first + recipe.inputs.harden * (last - first)


def falling(recipe: Recipe, done: Array) -> Array | float:
    """Return the share of the inputs' step size that is left when this share of a part's iterations is done."""
    decay = recipe.inputs.decay
    return jnp.minimum((1 - done) / decay, 1.0) if decay else 1.0


def move(
    model: Model, segment: Segment, seen: Array | None, legal: Legal, recipe: Recipe, state: State, key: Array
) -> tuple[Array, State]:
    """Take one outer iteration: match a segment, and move the set and the step size, unless that is unsound.

    Legal rows move straight through: the gradient at the rows that students see moves the continuous ones behind them.
    """
    settings, student = recipe.inputs, recipe.student
    learned = settings.labels == "learned"
    step_size = jnp.exp(state.log_step)
    batches = draw_batches(recipe, len(state.x), student.steps, jax.random.fold_in(key, BATCHES))
    lesson = Lesson(hardened(legal, state.x, recipe, state.iteration), state.y, step_size, batches, seen)
    match = GRADIENTS[student.gradient](model, segment, lesson, student.steps, learned)

    velocity = settings.momentum * state.velocity + match.inputs
    log_step_velocity = settings.student_momentum * state.log_step_velocity + step_size * match.step_size
    reach = state.reach * falling(recipe, state.iteration / settings.iterations)
    x = state.x - settings.step_size * (len(state.x) if settings.per_row else 1) * reach * velocity
    x = legal.inside(x) if settings.rows == "legal" else x
    moved = state._replace(
        x=x,
        velocity=velocity,
        average=settings.average * state.average + (1 - settings.average) * x,
        log_step=state.log_step - settings.student_rate * log_step_velocity,
        log_step_velocity=log_step_velocity,
        streak=jnp.zeros_like(state.streak),
    )
    if match.labels is not None:
        label_velocity = settings.momentum * state.label_velocity + match.labels
        y = jnp.clip(state.y - settings.label_step * reach * label_velocity, 0.0, 1.0)
        moved = moved._replace(y=y, label_velocity=label_velocity)
    return match.loss, guarded(recipe, state, moved, match.loss)


def hold(model: Model, wanted: Goal, legal: Legal, recipe: Recipe, state: State, key: Array) -> tuple[Array, State]:
    """Take one outer iteration after the paths were followed: train a student as receivers do, and move the set.

    Inputs move by `stay.step_size` in the root mean square, however steep the loss is: momentum and Adam's division by
    the size of past gradients, with one size for the whole set.
    """
    settings, past = recipe.inputs, state.iteration - recipe.inputs.iterations
    x = hardened(legal, state.x, recipe, state.iteration)
    batches = draw_batches(recipe, len(x), recipe.stay.steps, jax.random.fold_in(key, BATCHES))
    learned = learn(model, wanted, x, state.y, batches, recipe, jax.random.fold_in(key, PATIENTS))
    square = SQUARES * state.square + (1 - SQUARES) * jnp.mean(learned.inputs**2)
    velocity = settings.momentum * state.velocity + (1 - settings.momentum) * learned.inputs
    size = jnp.sqrt(square / (1 - SQUARES ** (past + 1.0))) * (1 - settings.momentum ** (past + 1.0))
    reach = state.reach * falling(recipe, past / recipe.stay.iterations)
    x = state.x - recipe.stay.step_size * reach * velocity / jnp.maximum(size, TINY)
    x = legal.inside(x) if settings.rows == "legal" else x
    moved = state._replace(
        x=x,
        velocity=velocity,
        square=square,
        average=settings.average * state.average + (1 - settings.average) * x,
        streak=jnp.zeros_like(state.streak),
    )
    if settings.labels == "learned":
        label_velocity = settings.momentum * state.label_velocity + learned.labels
        y = jnp.clip(state.y - settings.label_step * reach * label_velocity, 0.0, 1.0)
        moved = moved._replace(y=y, label_velocity=label_velocity)
    return learned.loss, guarded(recipe, state, moved, learned.loss)


def guarded(recipe: Recipe, state: State, moved: State, loss: Array) -> State:
    """Return the state after an iteration: moved, or, if that is unsound, as it was or as it last was sound."""
    finite = [jnp.all(jnp.isfinite(part)) for part in (moved.x, moved.y, moved.log_step)]
    sound = (loss <= recipe.inputs.loss_limit) & jnp.all(jnp.stack(finite))
    skipped = state._replace(streak=state.streak + 1, skipped=state.skipped + 1)
    rolled_back = skipped._replace(
        x=state.good_x,
        velocity=jnp.zeros_like(state.velocity),
        average=state.good_average,
        y=state.good_y,
        label_velocity=jnp.zeros_like(state.label_velocity),
        log_step=state.good_log_step - jnp.log(2.0),
        log_step_velocity=jnp.zeros_like(state.log_step_velocity),
        good_log_step=state.good_log_step - jnp.log(2.0),
        reach=state.reach / 2,
        streak=jnp.zeros_like(state.streak),
        rollbacks=state.rollbacks + 1,
    )
    unsound = jax.tree.map(partial(jnp.where, skipped.streak >= PATIENCE), rolled_back, skipped)
    state = jax.tree.map(partial(jnp.where, sound), moved, unsound)
    return state._replace(iteration=state.iteration + 1)

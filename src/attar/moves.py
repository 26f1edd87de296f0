"""One iteration of the outer loop: move the set so that students follow a path or stay at its end, unless unsound."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from attar.drawing import BATCHES, PATIENTS, draw_batches
from attar.legal import Legal
from attar.match import GRADIENTS, Lesson, Segment
from attar.models import Model
from attar.recipe import Recipe
from attar.state import State
from attar.stay import Goal, learn

PATIENCE = 10
"""Steps skipped in a row after which inputs and step size go back to the last good ones, and from there half as far."""

TINY = 1e-12
"""Size of gradients below which they are nothing."""

SQUARES = 0.99
"""Decay of the mean square of gradients that steps are divided by once the paths are followed."""


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
        moved = relabelled(recipe, moved, match.labels, reach)
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
        moved = relabelled(recipe, moved, learned.labels, reach)
    return learned.loss, guarded(recipe, state, moved, learned.loss)


def relabelled(recipe: Recipe, state: State, slope: Array, reach: Array) -> State:
    """Return the state with its labels moved, within 0 and 1."""
    velocity = recipe.inputs.momentum * state.label_velocity + slope
    y = jnp.clip(state.y - recipe.inputs.label_step * reach * velocity, 0.0, 1.0)
    return state._replace(y=y, label_velocity=velocity)


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


def falling(recipe: Recipe, done: Array) -> Array | float:
    """Return the share of the inputs' step size that is left when this share of a part's iterations is done."""
    decay = recipe.inputs.decay
    return jnp.minimum((1 - done) / decay, 1.0) if decay else 1.0


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

"""What an iteration of the outer loop draws: a path and a segment of it, rows of the set, real patients."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax

from attar.match import Segment
from attar.paths import Path, pick
from attar.patients import Patients
from attar.recipe import Recipe
from attar.segments import SAMPLERS

SHORTEST = 0.01
"""A segment is next to nothing below this share of a straight, even walk over the same time: it is drawn again."""

DRAWS = 8
"""How often at most."""

BATCHES, PATIENTS = 2, 100
"""Numbers of an iteration's key from which its batches and its patients are drawn; 0 and 1 are of path and segment."""


def seedless(recipe: Recipe) -> Recipe:
    """Return the recipe as jit sees it, so that another seed does not compile again."""
    return recipe.model_copy(update={"seed": 0})


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
    """Draw which rows each student step sees, [steps, batch]; None if it sees all.

    A student goes round and round the set in one random order: an order a pass took as long to draw as the steps took.
    """
    named = {"all": rows, "auto": max(2 * recipe.per_class, 256)}
    batch = named.get(str(recipe.student.batch)) or int(recipe.student.batch)
    if batch >= rows:
        return None
    round_and_round = jnp.arange(steps * batch).reshape(steps, batch) % rows
    return jax.random.permutation(key, rows)[round_and_round]


def draw_patients(patients: Patients, recipe: Recipe, key: Array) -> Array | None:
    """Draw the real patients on whom an iteration compares predictions; None if it compares parameters."""
    if recipe.student.match == "parameters":
        return None
    return patients.draw(jax.random.fold_in(key, PATIENTS), recipe.student.patients)

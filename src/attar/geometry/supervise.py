"""What a method asked of its students: its teachers' paths and the set condensed from them, the run's and others'.

Other methods are compared on the run's own cohort, start and settings, each with a set condensed under its own paths in
fewer iterations, by the first-order gradient and without selection, so that its matching loss is one of a set made for
it.
"""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from attar import condense, moves, teach
from attar.drawing import draw_patients, draw_segment, seedless
from attar.errors import RecipeError
from attar.geometry.trainings import Epochs
from attar.legal import legal
from attar.match import Lesson
from attar.methods import method
from attar.models import Model
from attar.paths import PATHS, Path
from attar.patients import balanced
from attar.progress import Watch
from attar.recipe import Recipe, load
from attar.run import Beginning
from attar.seeds import stream
from attar.segments import SAMPLERS
from attar.storage import Vault
from attar.store import Run

WORK, FEWEST = 2**26, 30
"""Hidden units or parameters, times student steps, of a compared method's condensation; so many iterations at least."""

PATH_BYTES = 2**28
"""Bytes of the paths that it is drawn from; of longer ones, those of the first teachers."""

ITERATIONS = 25
"""Iterations between two looks at the world."""


@dataclass(frozen=True, eq=False)
class Supervision:
    """A method's recipe, its paths, the condensed set with the step size it was made for, and the loss so far."""

    recipe: Recipe
    paths: Path
    lesson: Lesson
    losses: np.ndarray


def own(run: Run, model: Model, recipe: Recipe, ends: np.ndarray) -> Supervision:
    """Return the run's own supervision, from its folder and its teachers' ends [teachers, 2, p]."""
    vault, kept = Vault(model, recipe), run.read_arrays("condensed.safetensors")
    stored = vault.unpack(run.read_arrays("paths.safetensors"))
    paths = PATHS[recipe.path.kind].restore(model, stored, ends[:, 0], ends[:, 1])
    lesson = Lesson(*(jnp.asarray(kept[name]) for name in ("x", "y", "step_size")))
    return Supervision(
        recipe, paths, lesson, run.read_table("history.parquet")["loss"].to_numpy()[: recipe.inputs.iterations]
    )


def instead(recipe: Recipe, name: str) -> Recipe:
    """Return a run's recipe for another method: what its own method changed goes back to the default."""
    if method(name).choose:
        raise RecipeError(f"The method {name!r} picks real patients and follows no path: there is nothing to compare.")
    default = load("default").flat()
    settings = recipe.flat() | {key: default[key] for key in method(recipe.method).settings()}
    other = load("default", settings | method(name).settings() | {"method": name})
    SAMPLERS[other.segments.sampler].check(other)
    return other


def other(begun: Beginning, recipe: Recipe, points: Epochs, watch: Watch) -> Supervision:
    """Return what another method would have asked: paths of the teachers [teachers, points, p], and a set for them."""
    model, start, paths = begun.model, begun.start, draw(begun, recipe, points, watch)
    cost = max(math.prod(model.units(len(start.x))), model.size) * recipe.student.steps
    total = min(recipe.inputs.iterations, max(FEWEST, WORK // cost))
    changes = {"inputs.iterations": total, "stay.iterations": 0, "student.gradient": "first-order"}
    short = load("default", recipe.flat() | changes)
    patients = balanced(begun.data.x_train, begun.data.y_train)
    state = condense.begin(model, paths, patients, start.x, start.y, short)
    limits, key, losses = legal(begun.data.preparation), stream(recipe.seed, "condense"), []
    settled, moving = seedless(short), pathless(short)
    watch.stage(f"{recipe.method}: condense", total)
    for done in range(1, total + 1):
        step_key = jax.random.fold_in(key, done - 1)
        segment = draw_segment(paths, settled, step_key, state.iteration)
        seen = draw_patients(patients, short, step_key)
        loss, state = move(model, segment, seen, limits, moving, state, step_key)
        losses.append(float(loss))
        if done % ITERATIONS == 0 or done == total:
            watch.update(done, f"loss {np.mean(losses[-ITERATIONS:]):.2f}")
    lesson = Lesson(moves.shown(limits, state.average, short), state.y, jnp.exp(state.log_step))
    return Supervision(short, paths, lesson, np.array(losses))


def draw(begun: Beginning, recipe: Recipe, points: Epochs, watch: Watch) -> Path:
    """Return a method's paths of the teachers [teachers, points, p], or of the first of them."""
    room = max(1, PATH_BYTES // (4 * begun.model.size * len(points[0])))
    some = teach.Teachers(np.stack([points[index] for index in range(min(room, len(points)))]))
    watch.stage(f"{recipe.method}: paths", recipe.path.steps)
    paths = PATHS[recipe.path.kind].draw(begun.model, some, begun.task(recipe), recipe, watch.update)
    watch.update(recipe.path.steps)
    return paths


def pathless(recipe: Recipe) -> Recipe:
    """Return the recipe as moving the set along given segments depends on it: methods share what is compiled for it."""
    default = load("default")
    return seedless(recipe).model_copy(
        update={"method": default.method, "path": default.path, "segments": default.segments}
    )


move = jax.jit(moves.move, static_argnames=("model", "recipe"))
"""One outer iteration, compiled by itself."""

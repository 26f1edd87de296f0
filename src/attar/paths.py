"""Paths through parameter space that stand in for a teacher's training, and how they are drawn.

A path is a small frozen pytree with `at(t)`, t from 0 (the teacher's initialisation) to 1 (its solution). Many paths
are the same pytree with a leading axis, so that inside jit `pick(paths, i)` is one of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from attar.models import Model
from attar.recipe import Recipe
from attar.seeds import stream
from attar.teach import Teachers
from attar.train import Task, batch_loss

PROFILE_TIMES = np.linspace(0.0, 1.0, 21, dtype=np.float32)
"""Values of t at which the loss along a path is recorded."""


class Path(Protocol):
    """A curve from a teacher's initialisation to its solution."""

    def at(self, t: Array) -> Array:
        """Return the parameters [p] at t in [0, 1]."""


P = TypeVar("P", bound=Path)


def pick(paths: P, index: Array | int) -> P:
    """Return one of many paths."""
    return jax.tree.map(lambda leaf: leaf[index], paths)


@partial(jax.tree_util.register_dataclass, data_fields=["points"], meta_fields=[])
@dataclass(frozen=True)
class Bezier:
    """Bezier curve over points [degree + 1, p]: start, inner control points, end."""

    points: Array

    def at(self, t: Array) -> Array:
        """Return the curve at t by repeated interpolation between neighbours (de Casteljau)."""
        points = self.points
        while points.shape[0] > 1:
            points = (1 - t) * points[:-1] + t * points[1:]
        return points[0]


@dataclass(frozen=True)
class Drawn:
    """Paths of all teachers and the training loss along them [teachers, times]: of the straight line, and as fitted."""

    paths: Bezier
    line_loss: np.ndarray
    path_loss: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        """Return what is stored of the paths."""
        return {"points": np.asarray(self.paths.points), "line_loss": self.line_loss, "path_loss": self.path_loss}


def read_bezier(arrays: dict[str, np.ndarray]) -> Drawn:
    """Return paths from what was stored of them."""
    return Drawn(Bezier(jnp.asarray(arrays["points"])), arrays["line_loss"], arrays["path_loss"])


def draw_bezier(
    model: Model, teachers: Teachers, task: Task, recipe: Recipe, watch: Callable[[int], None] = lambda step: None
) -> Drawn:
    """Fit the control point of a quadratic Bezier curve between the ends of each teacher.

    It starts at the midpoint and lowers the mean training loss along the curve: each step draws values of t and a batch
    for each, the same for all teachers, and moves the control points by plain gradient descent, without dropout.
    """
    settings = recipe.path
    start, end = jnp.asarray(teachers.starts), jnp.asarray(teachers.ends)
    control, moving = (start + end) / 2, jnp.ones(len(start), bool)
    line_loss = profile(model, Bezier(jnp.stack([start, control, end], axis=1)), task)
    for step in range(settings.steps):
        key = jax.random.fold_in(stream(recipe.seed, "paths"), step)
        control, moving = fit_step(
            model,
            start,
            control,
            end,
            moving,
            task,
            key,
            settings.step_size,
            settings.tolerance,
            settings.draws,
            settings.batch,
        )
        watch(step + 1)
    paths = Bezier(jnp.stack([start, control, end], axis=1))
    return Drawn(paths, line_loss, profile(model, paths, task))


@partial(jax.jit, static_argnames=("model", "draws", "batch"))
def fit_step(
    model: Model,
    start: Array,
    control: Array,
    end: Array,
    moving: Array,
    task: Task,
    key: Array,
    step_size: float,
    tolerance: float,
    draws: int,
    batch: int,
) -> tuple[Array, Array]:
    """Move the control points [teachers, p] of paths still `moving` by one step."""
    time_key, row_key = jax.random.split(key)
    times = jax.random.uniform(time_key, (draws,))
    rows = jax.random.randint(row_key, (draws, min(batch, task.x.shape[0])), 0, task.x.shape[0])
    weights = None if task.weights is None else task.weights[rows]
    batches = Task(task.x[rows], task.y[rows], jnp.broadcast_to(task.offset, (draws, *task.offset.shape)), weights)

    def mean_loss(control: Array, start: Array, end: Array) -> Array:
        path = Bezier(jnp.stack([start, control, end]))
        losses = jax.vmap(lambda t, part: batch_loss(model, path.at(t), part, None))(times, batches)
        return jnp.mean(losses)

    gradients = jax.vmap(jax.grad(mean_loss))(control, start, end)
    moving = moving & (jnp.linalg.norm(gradients, axis=1) >= tolerance)
    return control - step_size * jnp.where(moving[:, None], gradients, 0.0), moving


@partial(jax.jit, static_argnames="model")
def _profile(model: Model, paths: Path, task: Task, times: Array) -> Array:
    return lax.map(lambda path: lax.map(lambda t: batch_loss(model, path.at(t), task, None), times), paths)


def profile(model: Model, paths: Path, task: Task) -> np.ndarray:
    """Return the training loss along many paths, [paths, times]."""
    return np.asarray(_profile(model, paths, task, jnp.asarray(PROFILE_TIMES)))

"""Bezier curves between a teacher's ends, bent so that the training loss along them is low (BTM)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from attar.models import Model
from attar.recipe import Recipe
from attar.seeds import stream
from attar.teach import Teachers
from attar.train import Task, batch_loss


@partial(jax.tree_util.register_dataclass, data_fields=["points"], meta_fields=[])
@dataclass(frozen=True)
class Bezier:
    """Bezier curve over points [degree + 1, p]: start, inner control points, end."""

    points: Array
    every_epoch: ClassVar[bool] = False

    def at(self, t: Array) -> Array:
        """Return the curve at t by repeated interpolation between neighbours (de Casteljau)."""
        points = self.points
        while points.shape[0] > 1:
            points = (1 - t) * points[:-1] + t * points[1:]
        return points[0]

    @classmethod
    def draw(cls, model: Model, teachers: Teachers, task: Task, recipe: Recipe, watch: Callable[[int], None]) -> Self:
        """Fit the inner control points of all teachers' curves.

        They start on the line and lower the mean training loss along the curve: each step draws values of t and a batch
        for each, the same for all teachers, and moves the control points by plain gradient descent, without dropout.
        """
        settings = recipe.path
        points = straight(teachers, settings.degree)
        moving = jnp.full(len(points), settings.degree > 1)
        for step in range(settings.steps if settings.degree > 1 else 0):
            key = jax.random.fold_in(stream(recipe.seed, "paths"), step)
            points, moving = fit_step(
                model,
                points,
                moving,
                task,
                key,
                settings.step_size,
                settings.tolerance,
                settings.draws,
                settings.batch,
            )
            watch(step + 1)
        return cls(points)

    def stored(self) -> dict[str, Array]:
        """Return the inner control points [teachers, degree - 1, p]."""
        return {"control": self.points[:, 1:-1]}

    @classmethod
    def restore(cls, model: Model, stored: dict[str, np.ndarray], starts: np.ndarray, ends: np.ndarray) -> Self:
        """Return the curves from their control points and both ends."""
        return cls(jnp.concatenate([starts[:, None], stored["control"], ends[:, None]], axis=1))


@partial(jax.tree_util.register_dataclass, data_fields=["points"], meta_fields=[])
@dataclass(frozen=True)
class Line(Bezier):
    """The straight line between both ends: a Bezier curve of degree 1, with nothing to fit."""

    @classmethod
    def draw(cls, model: Model, teachers: Teachers, task: Task, recipe: Recipe, watch: Callable[[int], None]) -> Self:
        """Join the teachers' ends."""
        return cls(straight(teachers, 1))


def straight(teachers: Teachers, degree: int) -> Array:
    """Return control points [teachers, degree + 1, p] equally spaced on the line between both ends."""
    start, end = jnp.asarray(teachers.starts)[:, None], jnp.asarray(teachers.ends)[:, None]
    share = jnp.linspace(0.0, 1.0, degree + 1)[None, 1:-1, None]
    return jnp.concatenate([start, (1 - share) * start + share * end, end], axis=1)


@partial(jax.jit, static_argnames=("model", "draws", "batch"))
def fit_step(
    model: Model,
    points: Array,
    moving: Array,
    task: Task,
    key: Array,
    step_size: float,
    tolerance: float,
    draws: int,
    batch: int,
) -> tuple[Array, Array]:
    """Move the inner control points of points [teachers, degree + 1, p] by one step, where a path is still `moving`."""
    time_key, row_key = jax.random.split(key)
    times = jax.random.uniform(time_key, (draws,))
    rows = jax.random.randint(row_key, (draws, min(batch, task.x.shape[0])), 0, task.x.shape[0])
    weights = None if task.weights is None else task.weights[rows]
    batches = Task(task.x[rows], task.y[rows], jnp.broadcast_to(task.offset, (draws, *task.offset.shape)), weights)

    def mean_loss(inner: Array, points: Array) -> Array:
        path = Bezier(points.at[1:-1].set(inner))
        losses = jax.vmap(lambda t, part: batch_loss(model, path.at(t), part, None))(times, batches)
        return jnp.mean(losses)

    gradients = jax.vmap(jax.grad(mean_loss))(points[:, 1:-1], points)
    moving = moving & (jnp.sqrt(jnp.sum(gradients**2, axis=(1, 2))) >= tolerance)
    step = step_size * jnp.where(moving[:, None, None], gradients, 0.0)
    return points.at[:, 1:-1].add(-step), moving

"""What a path is: a curve through parameter space that stands in for a teacher's training.

A path is a small frozen pytree with `at(t)`, t from 0 (the teacher's initialisation) to 1 (its solution). Many paths
are the same pytree with a leading axis, so that inside jit `pick(paths, i)` is one of them.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import ClassVar, Protocol, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from attar.models import Model
from attar.recipe import Recipe
from attar.teach import Teachers
from attar.train import Task, batch_loss

PROFILE_TIMES = np.linspace(0.0, 1.0, 21, dtype=np.float32)
"""Values of t at which the loss along a path is recorded."""

PROFILE_MEMORY = 16 * 2**20
"""Bytes of activations of the training rows on which it is; of more rows, evenly spaced ones."""


class Path(Protocol):
    """A curve from a teacher's initialisation to its solution, and how it is drawn, stored and restored."""

    every_epoch: ClassVar[bool]
    """Whether drawing needs the teachers at the end of every epoch, not only at both ends."""

    def at(self, t: Array) -> Array:
        """Return the parameters [p] at t in [0, 1]."""

    @classmethod
    def draw(cls, model: Model, teachers: Teachers, task: Task, recipe: Recipe, watch: Callable[[int], None]) -> Self:
        """Return the paths of all teachers; `watch` hears of each of `recipe.path.steps` steps, if there are any."""

    def stored(self) -> dict[str, Array]:
        """Return what is needed beyond the teachers' ends to restore the paths; parameter vectors are [..., p]."""

    @classmethod
    def restore(cls, model: Model, stored: dict[str, np.ndarray], starts: np.ndarray, ends: np.ndarray) -> Self:
        """Return the paths from what was stored and the teachers' ends [teachers, p]."""


P = TypeVar("P", bound=Path)


def pick(paths: P, index: Array | int) -> P:
    """Return one of many paths."""
    return jax.tree.map(lambda leaf: leaf[index], paths)


@partial(jax.jit, static_argnames="model")
def _profile(model: Model, paths: Path, task: Task, times: Array) -> Array:
    return lax.map(lambda path: lax.map(lambda t: batch_loss(model, path.at(t), task, None), times), paths)


def profile(model: Model, paths: Path, task: Task) -> np.ndarray:
    """Return the training loss along many paths, [paths, times]."""
    most = max(1, PROFILE_MEMORY // (4 * math.prod(model.units(1))))
    some = slice(None, None, -(-len(task.x) // most))
    weights = None if task.weights is None else task.weights[some]
    rows = Task(task.x[some], task.y[some], task.offset, weights)
    return np.asarray(_profile(model, paths, rows, jnp.asarray(PROFILE_TIMES)))

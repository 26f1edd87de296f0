"""The teacher's own training: its parameters at every epoch's end, and straight lines between them (MTT)."""

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
from attar.teach import Teachers
from attar.train import Task


@partial(jax.tree_util.register_dataclass, data_fields=["points"], meta_fields=[])
@dataclass(frozen=True)
class Checkpoints:
    """Piecewise linear path through points [epochs + 1, p], one epoch after the other in equal times."""

    points: Array
    every_epoch: ClassVar[bool] = True

    def at(self, t: Array) -> Array:
        """Return the parameters at t, which is an epoch's end at t = epoch / epochs."""
        last = self.points.shape[-2] - 1
        position = jnp.clip(jnp.asarray(t) * last, 0, last)
        before = jnp.clip(jnp.floor(position + 1e-4).astype(jnp.int32), 0, last)
        share = jnp.clip(position - before, 0, 1)
        return (1 - share) * self.points[before] + share * self.points[jnp.minimum(before + 1, last)]

    @classmethod
    def draw(cls, model: Model, teachers: Teachers, task: Task, recipe: Recipe, watch: Callable[[int], None]) -> Self:
        """Return the teachers' trainings as they were."""
        return cls(jnp.asarray(teachers.points))

    def stored(self) -> dict[str, Array]:
        """Return the epochs between both ends [teachers, epochs - 1, p]."""
        return {"epochs": self.points[:, 1:-1]}

    @classmethod
    def restore(cls, model: Model, stored: dict[str, np.ndarray], starts: np.ndarray, ends: np.ndarray) -> Self:
        """Return the paths from the epochs between and both ends."""
        return cls(jnp.concatenate([starts[:, None], stored["epochs"], ends[:, None]], axis=1))

"""Real patients on whom a student's predictions are compared with a path's: both classes of every label alike often."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

ROUND = 1024
"""Rows are filled up to a multiple of this with some that are never drawn: another seed's split needs no compiling."""


@partial(jax.tree_util.register_dataclass, data_fields=["x", "shares"], meta_fields=[])
@dataclass(frozen=True)
class Patients:
    """Inputs [rows, features], and for each row the chance that a draw falls on it or a row before it."""

    x: Array
    shares: Array

    def rows(self, key: Array, count: int) -> Array:
        """Draw the rows of patients [count]."""
        chosen = jnp.searchsorted(self.shares, jax.random.uniform(key, (count,)))
        return jnp.minimum(chosen, len(self.x) - 1)

    @partial(jax.jit, static_argnames="count")
    def draw(self, key: Array, count: int) -> Array:
        """Draw patients [count, features]."""
        return self.x[self.rows(key, count)]

    def among(self, count: int) -> Array:
        """Return patients [count, features] evenly spaced among all, so that each class is as frequent as it is."""
        last = jnp.searchsorted(self.shares, 1.0)
        return self.x[jnp.linspace(0.0, last, count).astype(int)]


def balanced(x: np.ndarray, y: np.ndarray) -> Patients:
    """Return patients of whom a draw picks a label at random, and those with and without it with the same chance.

    Where an outcome is rare, nearly all patients are alike, and a student that is right about them has learned nothing.
    """
    positives = np.maximum(y.sum(axis=0), 1)
    negatives = np.maximum(len(y) - y.sum(axis=0), 1)
    shares = np.cumsum(np.where(y == 1, 0.5 / positives, 0.5 / negatives).mean(axis=1))
    more = -len(x) % ROUND
    inputs, ends = np.pad(x, ((0, more), (0, 0))), np.pad(shares / shares[-1], (0, more), constant_values=1.0)
    return Patients(jnp.asarray(inputs), jnp.asarray(ends, jnp.float32))

"""Which part of a path is matched in an iteration: a sampler takes a key and returns (t_start, t_end)."""

import jax
from jax import Array

from attar.recipe import Segments


def uniform(key: Array, settings: Segments) -> tuple[Array, Array]:
    """Draw a segment of fixed length anywhere on the path."""
    start = jax.random.uniform(key, maxval=1.0 - settings.length)
    return start, start + settings.length

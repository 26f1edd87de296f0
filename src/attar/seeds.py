"""Independent random streams of one seed, so that changing one stage leaves the draws of the others alone."""

import zlib

import jax
from jax import Array


def stream(seed: int, name: str) -> Array:
    """Return the key of a named stream."""
    return jax.random.fold_in(jax.random.key(seed), zlib.crc32(name.encode()))

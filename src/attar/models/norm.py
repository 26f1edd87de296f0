"""Normalisation of hidden series [rows, hours, channels]; a new one is a row in `NORMS`.

Parameters hold no running statistics. In training a batch is normalised by its own mean and variance; for evaluation a
model's `calibrate` takes them from the data it was trained on.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

SMALL = 1e-5
GROUPS = 8


class Moments(NamedTuple):
    """Mean and variance of each channel, [channels]."""

    mean: Array
    variance: Array


Norm = Callable[[Array, Array, Array, Moments | None], tuple[Array, Moments | None]]


def batch_norm(z: Array, scale: Array, shift: Array, moments: Moments | None) -> tuple[Array, Moments]:
    """Normalise each channel over the batch and its hours, or by the moments given; return it with the moments used.

    The variance is the mean of squares less the square of the mean, which takes a pass less over the batch.
    """
    if moments is None:
        mean = jnp.mean(z, axis=(0, 1))
        moments = Moments(mean, jnp.mean(z * z, axis=(0, 1)) - mean * mean)
    factor = scale * lax.rsqrt(jnp.maximum(moments.variance, 0.0) + SMALL)
    return z * factor + (shift - moments.mean * factor), moments


def group_norm(z: Array, scale: Array, shift: Array, moments: Moments | None) -> tuple[Array, None]:
    """Normalise each patient over groups of channels and hours: no patient's output depends on another."""
    rows, hours, channels = z.shape
    grouped = z.reshape(rows, hours, GROUPS, channels // GROUPS)
    mean = jnp.mean(grouped, axis=(1, 3), keepdims=True)
    spread = jnp.mean((grouped - mean) ** 2, axis=(1, 3), keepdims=True)
    normal = ((grouped - mean) * lax.rsqrt(spread + SMALL)).reshape(z.shape)
    return normal * scale + shift, None


NORMS: dict[str, Norm] = {"batch": batch_norm, "group": group_norm}

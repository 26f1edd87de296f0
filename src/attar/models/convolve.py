"""Causal convolution over hours on a CPU: three hours and three taps at a time, as matrix products.

XLA's own convolutions take many times as long inside a loop (benchmarks/RESULTS.md). Written as products of each three
hours with each three taps, a convolution is a sum of short ones, 3 outputs of 3 taps, which five products give instead
of nine (Toom and Cook): inputs and taps are polynomials, evaluated at 0, 1, -1, 2 and infinity, multiplied point by
point, and interpolated. In float32 that is as exact as the plain sum, to a few units in the last places.
"""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array

POINTS = (0.0, 1.0, -1.0, 2.0)
SIDE = 3


def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what takes 5 inputs, 3 taps and 5 products to the 5 points, the 5 points and the 3 outputs."""
    points = np.array(POINTS)
    powers = points[:, None] ** np.arange(SIDE)
    infinity = np.eye(SIDE)[-1:]
    apart = np.array([np.prod(np.delete(point - points, at)) for at, point in enumerate(points)])
    of_taps = np.concatenate([powers / apart[:, None], infinity])
    to_outputs = np.concatenate([powers, infinity]).T
    both = np.einsum("op,pt->otp", to_outputs, of_taps).reshape(SIDE * SIDE, -1)
    seen = np.add.outer(np.arange(SIDE), np.arange(SIDE)).ravel()
    of_inputs = np.linalg.lstsq(both, np.eye(len(to_outputs.T))[seen], rcond=None)[0]
    return np.asarray(of_inputs).round(9), of_taps, to_outputs


OF_INPUTS, OF_TAPS, TO_OUTPUTS = _tables()


def convolve(series: Array, kernels: Sequence[Array], dilation: int = 1) -> Array:
    """Convolve series [rows, hours, inputs] causally with kernels [taps, inputs, outputs] side by side.

    With a dilation, hours that are so far apart are a series of their own. All kernels become one with as many taps as
    the longest, to a multiple of three, with zeros before the shorter ones.
    """
    rows, hours, inputs = series.shape
    taps = -(-max(len(kernel) for kernel in kernels) // SIDE) * SIDE
    weight = jnp.concatenate([jnp.pad(kernel, ((taps - len(kernel), 0), (0, 0), (0, 0))) for kernel in kernels], axis=2)
    missing = -hours % (SIDE * dilation)
    whole = jnp.pad(series, ((0, 0), (missing, 0), (0, 0)))
    if dilation > 1:
        apart = whole.reshape(rows, -1, dilation, inputs).swapaxes(1, 2).reshape(rows * dilation, -1, inputs)
        made = _by_threes(apart, weight).reshape(rows, dilation, -1, weight.shape[2]).swapaxes(1, 2)
        return made.reshape(rows, hours + missing, -1)[:, missing:]
    return _by_threes(whole, weight)[:, missing:]


def _by_threes(series: Array, weight: Array) -> Array:
    rows, hours, inputs = series.shape
    groups, blocks = len(weight) // SIDE, hours // SIDE
    padded = jnp.pad(series, ((0, 0), (len(weight) - 1, 1), (0, 0))).reshape(rows, -1, SIDE, inputs)
    seen = [padded[:, :-1, at] for at in range(SIDE)] + [padded[:, 1:, at] for at in range(SIDE - 1)]
    at_points = jnp.einsum("pt,gtio->pgio", OF_TAPS.astype(np.float32), weight.reshape(groups, SIDE, inputs, -1))
    products = []
    for factors, of_point in zip(OF_INPUTS, at_points, strict=True):
        mixed = _mix(factors, seen)
        moved = jnp.concatenate([mixed[:, group : group + blocks] for group in range(groups)], axis=-1)
        products.append(moved @ of_point.reshape(groups * inputs, -1))
    outputs = [_mix(factors, products) for factors in TO_OUTPUTS]
    return jnp.stack(outputs, axis=2).reshape(rows, hours, -1)


def _mix(factors: np.ndarray, arrays: Sequence[Array]) -> Array:
    """Return the sum of arrays times factors, without those times nothing."""
    return sum(
        (float(factor) * array for factor, array in zip(factors, arrays, strict=True) if factor), jnp.float32(0.0)
    )

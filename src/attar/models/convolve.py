"""Causal convolution over hours on a CPU: three hours and three taps at a time, as matrix products.

XLA's own convolutions take many times as long inside a loop (benchmarks/RESULTS.md). Written as products of each three
hours with each three taps, a convolution is a sum of short ones, 3 outputs of 3 taps, which five products give instead
of nine (Toom and Cook): inputs and taps are polynomials, evaluated at 0, 1, -1, 2 and infinity, multiplied point by
point, and interpolated. In float32 that is as exact as the plain sum, to a few units in the last places.

A convolution is linear in the series and in the taps, and both ways back are again products of threes: to the series a
convolution with the hours ahead, to the taps five products. Derived from the forward pass they would take half as long
again, so the convolution is an operation of its own, `CONVOLUTION`, that knows them.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

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
        made = (
            CONVOLUTION.bind(apart, weight, taps=taps, ahead=False)
            .reshape(rows, dilation, -1, weight.shape[2])
            .swapaxes(1, 2)
        )
        return made.reshape(rows, hours + missing, -1)[:, missing:]
    return CONVOLUTION.bind(whole, weight, taps=taps, ahead=False)[:, missing:]


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def recall(dilation: int, known: Array, series: Array, kernels: Sequence[Array]) -> Array:
    """Return what `convolve` returned for these before, as if it were computed again; derivatives are as of that."""
    return known


@recall.defjvp
def _recall_change(
    dilation: int, values: tuple[Array, Array, Sequence[Array]], changes: tuple[Array, Array, Sequence[Array]]
) -> tuple[Array, Array]:
    (known, series, kernels), (_, of_series, of_kernels) = values, changes
    change = convolve(of_series, kernels, dilation) + convolve(series, of_kernels, dilation)
    return recall(dilation, known, series, kernels), change


def _by_threes(series: Array, weight: Array, taps: int, ahead: bool) -> Array:
    """Convolve series [rows, hours, inputs] with taps [taps, inputs, outputs], the last of which sees the same hour.

    The others see the hours before it, or those ahead. Hours and taps are multiples of three.
    """
    rows, hours, inputs = series.shape
    groups, blocks = taps // SIDE, hours // SIDE
    in_order = (weight[::-1] if ahead else weight).reshape(groups, SIDE, inputs, -1)
    at_points = jnp.einsum("pt,gtio->pgio", OF_TAPS.astype(np.float32), in_order)
    products = [
        _moved(mixed, groups, blocks) @ of_point.reshape(groups * inputs, -1)
        for mixed, of_point in zip(_at_points(series, taps, ahead), at_points, strict=True)
    ]
    outputs = [_mix(factors, products) for factors in TO_OUTPUTS]
    return jnp.stack(outputs, axis=2).reshape(rows, hours, -1)


def _back_to_series(change: Array, series: Any, weight: Array, taps: int, ahead: bool) -> Array:
    return CONVOLUTION.bind(change, weight.swapaxes(1, 2), taps=taps, ahead=not ahead)


def _back_to_taps(change: Array, series: Array, weight: Any, taps: int, ahead: bool) -> Array:
    """Return the gradient of the taps; with the hours ahead, series and change trade places."""
    if ahead:
        return _back_to_taps(series, change, weight, taps, ahead=False).swapaxes(1, 2)
    (rows, hours, outputs), inputs = change.shape, series.shape[2]
    groups, blocks = taps // SIDE, hours // SIDE
    by_place = change.reshape(rows, blocks, SIDE, outputs)
    changes = [by_place[:, :, place] for place in range(SIDE)]
    products = [
        jnp.einsum("rbi,rbo->io", _moved(mixed, groups, blocks), _mix(factors, changes))
        for mixed, factors in zip(_at_points(series, taps, False), TO_OUTPUTS.T, strict=True)
    ]
    at_points = jnp.stack(products).reshape(-1, groups, inputs, outputs)
    return jnp.einsum("pt,pgio->gtio", OF_TAPS.astype(np.float32), at_points).reshape(taps, inputs, outputs)


def _at_points(series: Array, taps: int, ahead: bool) -> list[Array]:
    """Return the inputs that every three outputs and three taps see, evaluated at each point."""
    rows, _, inputs = series.shape
    around = (0, taps) if ahead else (taps - 1, 1)
    padded = jnp.pad(series, ((0, 0), around, (0, 0))).reshape(rows, -1, SIDE, inputs)
    seen = [padded[:, :-1, at] for at in range(SIDE)] + [padded[:, 1:, at] for at in range(SIDE - 1)]
    return [_mix(factors, seen) for factors in OF_INPUTS]


def _moved(mixed: Array, groups: int, blocks: int) -> Array:
    """Put what each group of taps sees side by side."""
    return jnp.concatenate([mixed[:, group : group + blocks] for group in range(groups)], axis=-1)


def _mix(factors: np.ndarray, arrays: Sequence[Array]) -> Array:
    """Return the sum of arrays times factors, without those times nothing."""
    return sum(
        (float(factor) * array for factor, array in zip(factors, arrays, strict=True) if factor), jnp.float32(0.0)
    )


def _batched(operands: Sequence[Array], axes: Sequence[int | None], **how: Any) -> tuple[Array, int]:
    return jax.vmap(partial(_by_threes, **how), tuple(axes))(*operands), 0


CONVOLUTION = Primitive("convolution")
CONVOLUTION.def_impl(jax.jit(_by_threes, static_argnames=("taps", "ahead")))
CONVOLUTION.def_abstract_eval(
    lambda series, weight, **_: ShapedArray((*series.shape[:2], weight.shape[2]), series.dtype)
)
mlir.register_lowering(CONVOLUTION, mlir.lower_fun(_by_threes, multiple_results=False))
ad.defbilinear(CONVOLUTION, _back_to_series, _back_to_taps)
batching.primitive_batchers[CONVOLUTION] = _batched

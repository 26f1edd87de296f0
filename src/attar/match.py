"""The student, the matching loss, and its gradient with respect to the condensed inputs and the step size.

The student starts on a path at theta_s and takes N plain gradient steps on the condensed set; the loss is its squared
distance to theta_e over the squared length of the segment. Two gradients:

- first-order (the paper's): every student gradient is differentiated with respect to the inputs where it was taken, but
  not through the steps before it; dL/dX = -eta * sum_n d/dX <g_n, g_L>, dL/d eta = -<sum_n g_n, g_L>, with
  g_L = dL/d theta_N.
- exact: the gradient of the unrolled loop, by the adjoint recursion over the stored iterates.

Both keep the N iterates, or what stands for them, and nothing else that grows with N.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from attar.models import Model
from attar.models.student import follow, steepness


class Match(NamedTuple):
    """Matching loss of one segment and its gradients."""

    loss: Array
    inputs: Array
    step_size: Array


Gradient = Callable[[Model, Array, Array, Array, Array, Array, int], Match]


def distance(reached: Array, start: Array, end: Array) -> tuple[Array, Array]:
    """Return the normalised matching loss and its gradient with respect to the reached parameters."""
    gap, length = reached - end, jnp.sum((start - end) ** 2)
    return jnp.sum(gap**2) / length, 2.0 * gap / length


def first_order(model: Model, start: Array, end: Array, x: Array, y: Array, step_size: Array, steps: int) -> Match:
    """Return the matching loss of a segment with the paper's first-order gradient."""
    reached, trace = model.follow(start, x, y, step_size, steps)
    loss, direction = distance(reached, start, end)
    inputs = -step_size * model.pull(trace, x, y, direction)
    return Match(loss, inputs, -jnp.vdot(start - reached, direction) / step_size)


def exact(model: Model, start: Array, end: Array, x: Array, y: Array, step_size: Array, steps: int) -> Match:
    """Return the matching loss of a segment with the gradient of the unrolled student."""
    reached, iterates = follow(model, start, x, y, step_size, steps)
    loss, direction = distance(reached, start, end)

    def back(carry: tuple[Array, Array, Array], theta: Array) -> tuple[tuple[Array, Array, Array], None]:
        adjoint, inputs, slope = carry
        along, (by_theta, by_x) = jax.value_and_grad(steepness, (1, 2))(model, theta, x, y, adjoint)
        return (adjoint - step_size * by_theta, inputs - step_size * by_x, slope - along), None

    zero = (direction, jnp.zeros_like(x), jnp.zeros_like(step_size))
    (_, inputs, slope), _ = lax.scan(back, zero, iterates, reverse=True)
    return Match(loss, inputs, slope)


GRADIENTS: dict[str, Gradient] = {"first-order": first_order, "exact": exact}

"""The student, the matching loss, and its gradient with respect to the condensed set and the step size.

The student starts on a path at theta_s and takes N plain gradient steps on the condensed set; the loss is its squared
distance to theta_e over the squared length of the segment. Two gradients:

- first-order (the paper's): every student gradient is differentiated with respect to the inputs where it was taken, but
  not through the steps before it; dL/dX = -eta * sum_n d/dX <g_n, g_L>, dL/d eta = -<sum_n g_n, g_L>, with
  g_L = dL/d theta_N. Labels that are learned have the same gradient with Y in place of X.
- exact: the gradient of the unrolled loop, by the adjoint recursion over the stored iterates.

Both keep the N iterates, or what stands for them; a network may also remember what it computed on the way, up to
`student.MEMORY`. Nothing else grows with N.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from attar.models import Model
from attar.models.student import follow, pull_all, steepness


class Segment(NamedTuple):
    """Where the student starts and where it should arrive, both [p]; the least length that the loss divides by."""

    start: Array
    end: Array
    shortest: Array | float = 0.0


class Lesson(NamedTuple):
    """What the student is trained on: inputs, labels, step size; batches [steps, rows] where a step sees only some."""

    x: Array
    y: Array
    step_size: Array
    batches: Array | None = None


class Match(NamedTuple):
    """Matching loss of one segment and its gradients; that of the labels is None unless they are learned."""

    loss: Array
    inputs: Array
    step_size: Array
    labels: Array | None = None


Gradient = Callable[[Model, Segment, Lesson, int, bool], Match]


def distance(reached: Array, segment: Segment) -> tuple[Array, Array]:
    """Return the normalised matching loss and its gradient with respect to the reached parameters."""
    gap = reached - segment.end
    length = jnp.maximum(jnp.sum((segment.start - segment.end) ** 2), segment.shortest**2)
    return jnp.sum(gap**2) / length, 2.0 * gap / length


def first_order(model: Model, segment: Segment, lesson: Lesson, steps: int, learn_labels: bool = False) -> Match:
    """Return the matching loss of a segment with the paper's first-order gradient.

    The network's own student serves full batches and fixed labels; anything else goes by automatic differentiation.
    """
    x, y, step_size, batches = lesson
    labels = None
    if batches is None and not learn_labels:
        reached, trace = model.follow(segment.start, x, y, step_size, steps)
        loss, direction = distance(reached, segment)
        inputs = model.pull(trace, x, y, direction)
    else:
        reached, iterates = follow(model, segment.start, x, y, step_size, steps, batches)
        loss, direction = distance(reached, segment)
        inputs, labels = pull_all(model, iterates, x, y, direction, batches)
        labels = -step_size * labels if learn_labels else None
    slope = -jnp.vdot(segment.start - reached, direction) / step_size
    return Match(loss, -step_size * inputs, slope, labels)


class Back(NamedTuple):
    """What the adjoint recursion carries from the last step to the first."""

    adjoint: Array
    inputs: Array
    labels: Array
    slope: Array


def exact(model: Model, segment: Segment, lesson: Lesson, steps: int, learn_labels: bool = False) -> Match:
    """Return the matching loss of a segment with the gradient of the unrolled student."""
    x, y, step_size, batches = lesson
    reached, iterates = follow(model, segment.start, x, y, step_size, steps, batches)
    loss, direction = distance(reached, segment)

    def back(carry: Back, part: tuple[Array, Array | None]) -> tuple[Back, None]:
        theta, rows = part
        along, (by_theta, by_x, by_y) = jax.value_and_grad(steepness, (1, 2, 3))(
            model, theta, x, y, carry.adjoint, rows
        )
        return Back(
            carry.adjoint - step_size * by_theta,
            carry.inputs - step_size * by_x,
            carry.labels - step_size * by_y,
            carry.slope - along,
        ), None

    zero = Back(direction, jnp.zeros_like(x), jnp.zeros_like(y), jnp.zeros_like(step_size))
    end, _ = lax.scan(back, zero, (iterates, batches), reverse=True)
    return Match(loss, end.inputs, end.slope, end.labels if learn_labels else None)


GRADIENTS: dict[str, Gradient] = {"first-order": first_order, "exact": exact}

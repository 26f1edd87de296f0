"""The student, the matching loss, and its gradient with respect to the condensed set and the step size.

The student starts on a path at theta_s and takes N plain gradient steps on the condensed set. At some moments on its
way it is compared with the path: the squared distance between both, over that between the segment's ends, measured in
parameters (the paper's) or in the logits of real patients. The loss is the mean over the moments, the last of which is
the segment's end. Two gradients:

- first-order (the paper's): every student gradient is differentiated with respect to the inputs where it was taken, but
  not through the steps before it; dL/dX = -eta * sum_n d/dX <g_n, G_n>, dL/d eta = -sum_n <g_n, G_n>, with G_n the sum
  of dL/d theta over the moments after step n. Labels that are learned have the same gradient with Y in place of X.
- exact: the gradient of the unrolled loop, by the adjoint recursion over the stored iterates.

Both keep the N iterates, or what stands for them; a network may also remember what it computed on the way, up to
`student.MEMORY`. Nothing else grows with N.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from attar.models import Model
from attar.models.student import follow, pull_all, steepness

FAINTEST = 1e-4
"""Mean square of logits below which a segment's predictions are the same at both ends: the loss divides by no less."""


class Segment(NamedTuple):
    """Where the student starts and where it should arrive, both [p]; the least length that the loss divides by.

    `between` [moments - 1, p] is where it should be on the way, evenly in time; None is nowhere.
    """

    start: Array
    end: Array
    shortest: Array | float = 0.0
    between: Array | None = None

    @property
    def targets(self) -> Array:
        """Where the student should be at each moment [moments, p]."""
        end = self.end[None]
        return end if self.between is None else jnp.concatenate([self.between, end])


class Lesson(NamedTuple):
    """What the student is trained on: inputs, labels, step size; batches [steps, rows] where a step sees only some.

    `patients` are the real ones whose predictions are compared; None: parameters are.
    """

    x: Array
    y: Array
    step_size: Array
    batches: Array | None = None
    patients: Array | None = None


class Match(NamedTuple):
    """Matching loss of one segment and its gradients; that of the labels is None unless they are learned."""

    loss: Array
    inputs: Array
    step_size: Array
    labels: Array | None = None


Gradient = Callable[[Model, Segment, Lesson, int, bool], Match]
Follow = Callable[[Array, int, Array | None], tuple[Array, Any]]
"""Trains a student from theta so many steps, on these batches; returns its end and what stands for its iterates."""


class Way(NamedTuple):
    """A student's way, moment by moment: where it began and ended each part [moments, p], and the parts' traces."""

    began: Array
    reached: Array
    traces: Any


def distance(model: Model, segment: Segment, patients: Array | None, reached: Array) -> tuple[Array, Array]:
    """Return the normalised matching loss of the points reached [moments, p] and its gradient with respect to them."""

    def seen(theta: Array) -> Array:
        return theta if patients is None else model.apply(theta, patients)

    least = segment.shortest**2 if patients is None else FAINTEST * patients.shape[0]
    length = jnp.maximum(jnp.sum((seen(segment.start) - seen(segment.end)) ** 2), least)

    def loss(reached: Array) -> Array:
        gaps = jax.vmap(lambda point, target: jnp.sum((seen(point) - seen(target)) ** 2))(reached, segment.targets)
        return jnp.mean(gaps) / length

    return jax.value_and_grad(loss)(reached)


def by_moment(batches: Array | None, moments: int) -> Array | None:
    """Return the batches of a student's steps [steps, rows] as [moments, steps of each, rows]."""
    return None if batches is None else batches.reshape(moments, -1, batches.shape[-1])


def walk(follow: Follow, segment: Segment, lesson: Lesson, steps: int) -> Way:
    """Send a student along a segment, in as many equal parts as there are moments."""
    moments = len(segment.targets)

    def part(theta: Array, batches: Array | None) -> tuple[Array, Way]:
        end, trace = follow(theta, steps // moments, batches)
        return end, Way(theta, end, trace)

    return lax.scan(part, segment.start, by_moment(lesson.batches, moments), length=moments)[1]


def follow_own(model: Model, lesson: Lesson) -> Follow:
    """Return the network's own student, which sees all rows in every step."""
    return lambda theta, steps, batches: model.follow(theta, lesson.x, lesson.y, lesson.step_size, steps)


def follow_any(model: Model, lesson: Lesson) -> Follow:
    """Return the student that any network has, and that keeps its iterates."""
    return lambda theta, steps, batches: follow(model, theta, lesson.x, lesson.y, lesson.step_size, steps, batches)


def first_order(model: Model, segment: Segment, lesson: Lesson, steps: int, learn_labels: bool = False) -> Match:
    """Return the matching loss of a segment with the paper's first-order gradient.

    The network's own student serves full batches and fixed labels; anything else goes by automatic differentiation.
    """
    x, y, step_size, batches, patients = lesson
    own = batches is None and not learn_labels
    way = walk((follow_own if own else follow_any)(model, lesson), segment, lesson, steps)
    loss, directions = distance(model, segment, patients, way.reached)
    ahead = jnp.cumsum(directions[::-1], axis=0)[::-1]

    def pull(part: tuple[Any, Array, Array | None]) -> tuple[Array, Array | None]:
        trace, direction, batches = part
        return (model.pull(trace, x, y, direction), None) if own else pull_all(model, trace, x, y, direction, batches)

    pulls = lax.map(pull, (way.traces, ahead, by_moment(batches, len(ahead))))
    inputs, labels = jax.tree.map(partial(jnp.sum, axis=0), pulls)
    slope = -jnp.sum((way.began - way.reached) * ahead) / step_size
    return Match(loss, -step_size * inputs, slope, -step_size * labels if learn_labels else None)


class Back(NamedTuple):
    """What the adjoint recursion carries from the last step to the first."""

    adjoint: Array
    inputs: Array
    labels: Array
    slope: Array


def exact(model: Model, segment: Segment, lesson: Lesson, steps: int, learn_labels: bool = False) -> Match:
    """Return the matching loss of a segment with the gradient of the unrolled student."""
    x, y, step_size, batches, patients = lesson
    way = walk(follow_any(model, lesson), segment, lesson, steps)
    loss, directions = distance(model, segment, patients, way.reached)

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

    def back_to_moment(carry: Back, part: tuple[Array, Array, Array | None]) -> tuple[Back, None]:
        iterates, direction, batches = part
        carry = carry._replace(adjoint=carry.adjoint + direction)
        return lax.scan(back, carry, (iterates, batches), reverse=True)[0], None

    zero = Back(jnp.zeros_like(segment.start), jnp.zeros_like(x), jnp.zeros_like(y), jnp.zeros_like(step_size))
    parts = (way.traces, directions, by_moment(batches, len(directions)))
    end, _ = lax.scan(back_to_moment, zero, parts, reverse=True)
    return Match(loss, end.inputs, end.slope, end.labels if learn_labels else None)


GRADIENTS: dict[str, Gradient] = {"first-order": first_order, "exact": exact}

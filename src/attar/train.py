"""Train many networks at once by stochastic gradient descent: teachers on the cohort, models that score a small set.

Networks trained together see the same mini-batches in the same order, each with its own start and its own dropout. That
makes the first layer of all of them one matrix product, several times faster than one network after another
(benchmarks/RESULTS.md).
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from attar.models import Model
from attar.models.loss import binary_cross_entropy


class Task(NamedTuple):
    """What is learned: inputs, labels, and what the loss adds to the logits or multiplies the entries with."""

    x: Array
    y: Array
    offset: Array
    weights: Array | None = None


class Fit(NamedTuple):
    """Parameters and momentum of networks in training, both [networks, p]."""

    theta: Array
    velocity: Array


def stride(step_size: float, y: Array) -> float:
    """Return the step size for labels [rows, labels]: the loss is their mean, so each of many would learn slowly."""
    return step_size * math.sqrt(y.shape[1])


def shrinkage(weight_decay: float, y: Array) -> float:
    """Return the weight decay for labels [rows, labels], of which each has only its part of the loss, a mean."""
    return weight_decay / y.shape[1]


def fresh(model: Model, key: Array, count: int) -> Array:
    """Draw `count` fresh networks [count, p]."""
    return jax.vmap(model.init)(jax.random.split(key, count))


def begin(theta: Array) -> Fit:
    """Return networks [networks, p] at rest."""
    return Fit(theta, jnp.zeros_like(theta))


def keep_masks(key: Array, model: Model, networks: int, rows: int) -> Array | None:
    """Draw the dropout masks [networks, *units] of one step, or None when nothing is dropped.

    A unit takes 2 or 8 bits of a random word instead of a number of its own, because drawing would otherwise cost as
    much as the network itself. Rates are exact in quarters, else rounded to 1/256.
    """
    if model.dropout == 0:
        return None
    bits = 2 if (4 * model.dropout).is_integer() else 8
    lanes = 32 // bits
    words = lax.optimization_barrier(jax.random.bits(key, (-(-networks // lanes), 1, *model.units(rows))))
    shifts = bits * jnp.arange(lanes, dtype=jnp.uint32).reshape(lanes, *(1 for _ in model.units(rows)))
    kept = ((words >> shifts) & (2**bits - 1)) >= round(model.dropout * 2**bits)
    return kept.reshape(-1, *model.units(rows))[:networks]


def batch_loss(model: Model, theta: Array, task: Task, keep: Array | None) -> Array:
    """Return the training loss of one network on one batch."""
    return binary_cross_entropy(model.apply(theta, task.x, keep) + task.offset, task.y, task.weights)


Direction = Callable[[Model, Array, Task, Array | None, Array], Array]
"""Which way one network [p] steps on a batch, given its dropout mask and the share of the step size that is left."""


def gradient(model: Model, theta: Array, task: Task, keep: Array | None, share: Array) -> Array:
    """Return the direction of plain gradient descent."""
    return jax.grad(batch_loss, 1)(model, theta, task, keep)


def step(
    model: Model,
    fit: Fit,
    task: Task,
    key: Array,
    step_size: Array,
    momentum: Array,
    share: Array,
    direction: Direction = gradient,
    weight_decay: float = 0.0,
) -> Fit:
    """Move every network by one step on the same batch; the step size is `share` of its first value."""
    keep = keep_masks(key, model, fit.theta.shape[0], task.x.shape[0])
    moves = jax.vmap(direction, (None, 0, None, 0, None))(model, fit.theta, task, keep, share)
    velocity = momentum * fit.velocity + moves + (weight_decay * fit.theta if weight_decay else 0.0)
    return Fit(fit.theta - share * step_size * velocity, velocity)


@partial(jax.jit, static_argnames=("model", "batch", "direction", "weight_decay"))
def epoch(
    model: Model,
    fit: Fit,
    task: Task,
    key: Array,
    step_size: Array,
    momentum: Array,
    batch: int,
    left: tuple[float, float] = (1.0, 1.0),
    direction: Direction = gradient,
    weight_decay: float = 0.0,
) -> Fit:
    """Pass once over the rows in a fresh order; rows left over after the last whole batch wait for the next pass.

    `left` is the share of the step size at the beginning of this pass and at the beginning of the next.
    """
    rows = task.x.shape[0]
    if rows <= batch:
        return step(model, fit, task, key, step_size, momentum, jnp.asarray(left[0]), direction, weight_decay)
    key, order_key = jax.random.split(key)
    steps = rows // batch
    order = jax.random.permutation(order_key, rows)[: steps * batch].reshape(steps, batch)
    inputs, labels = task.x[order], task.y[order]
    weights = None if task.weights is None else task.weights[order]
    shares = left[0] + (left[1] - left[0]) * jnp.arange(steps) / steps

    def one(fit: Fit, part: tuple[Array, Array, Array | None, Array, Array]) -> tuple[Fit, None]:
        x, y, weights, key, share = part
        batch_task = Task(x, y, task.offset, weights)
        return step(model, fit, batch_task, key, step_size, momentum, share, direction, weight_decay), None

    return lax.scan(one, fit, (inputs, labels, weights, jax.random.split(key, steps), shares))[0]

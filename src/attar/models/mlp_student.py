"""The student of a one-hidden-layer network, by hand: its steps, and how its gradients pull on the inputs.

Automatic differentiation takes 1.3 to 4.6 times as long (benchmarks/RESULTS.md). By hand, the direction's forward pass
and the factor of its hidden weights are the same for every step, and the hidden bias is the weight of a constant input,
so that neither costs a pass of its own. The same sums in two forms, chosen by shape:

- primal: keeps the parameters of every step; pulling takes two products of rows x features x hidden a step.
- dual, for fewer rows than features: every step moves the hidden weights within the span of the rows, so that the rows'
  Gram matrix can stand for them, and a step takes products of rows x rows x hidden. Keeps the hidden layer of every
  step, which is smaller than the parameters.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from jax.nn import sigmoid

from attar.models import flat


class Sizes(NamedTuple):
    """Features, hidden units and outputs of the network."""

    features: int
    hidden: int
    outputs: int

    def split(self, theta: Array) -> list[Array]:
        """Cut theta into hidden weights with the bias as their last row, output weights and output bias."""
        shapes = {
            "hidden": (self.features + 1, self.hidden),
            "output.weight": (self.hidden, self.outputs),
            "output.bias": (self.outputs,),
        }
        return flat.split(theta, shapes)


class Trace(NamedTuple):
    """What the dual form keeps: the first hidden weights, and per step the hidden layer before ReLU and the output."""

    weight: Array
    step_size: Array
    before: Array
    out_weight: Array
    out_bias: Array


class Layer(NamedTuple):
    """One step seen from its hidden layer."""

    active: Array
    hidden: Array
    risk: Array
    residual: Array
    back: Array
    """The loss's derivative with respect to the hidden layer before ReLU."""


def constant(x: Array) -> Array:
    """Append the constant input whose weight is the hidden bias."""
    return jnp.concatenate([x, jnp.ones_like(x[:, :1])], axis=1)


def layer(before: Array, out_weight: Array, out_bias: Array, y: Array) -> Layer:
    """Pass a hidden layer forward to the loss and back."""
    active = before > 0
    hidden = jnp.where(active, before, 0.0)
    risk = sigmoid(hidden @ out_weight + out_bias)
    residual = (risk - y) / y.size
    return Layer(active, hidden, risk, residual, jnp.where(active, residual @ out_weight.T, 0.0))


def upstream(now: Layer, out_weight: Array, tangent: Array, d_out_weight: Array, d_out_bias: Array) -> Array:
    """Return the derivative of <gradient, direction> with respect to the hidden layer before ReLU."""
    change = jnp.where(now.active, tangent, 0.0) @ out_weight + now.hidden @ d_out_weight + d_out_bias
    curvature = now.risk * (1.0 - now.risk) / now.risk.size * change
    return jnp.where(now.active, curvature @ out_weight.T + now.residual @ d_out_weight.T, 0.0)


def pull_primal(sizes: Sizes, iterates: Array, x: Array, y: Array, direction: Array) -> Array:
    """Return the sum over iterates [steps, p] of d/dx <grad loss(iterate; x, y), direction>."""
    x = constant(x)
    d_weight, d_out_weight, d_out_bias = sizes.split(direction)
    tangent = x @ d_weight

    def add(sums: tuple[Array, Array], theta: Array) -> tuple[tuple[Array, Array], None]:
        through_weights, through_direction = sums
        weight, out_weight, out_bias = sizes.split(theta)
        now = layer(x @ weight, out_weight, out_bias, y)
        pulled = upstream(now, out_weight, tangent, d_out_weight, d_out_bias) @ weight[:-1].T
        return (through_weights + pulled, through_direction + now.back), None

    zero = (jnp.zeros_like(x[:, :-1]), jnp.zeros_like(tangent))
    (through_weights, through_direction), _ = lax.scan(add, zero, iterates)
    return through_weights + through_direction @ d_weight[:-1].T


def follow_dual(sizes: Sizes, start: Array, x: Array, y: Array, step_size: Array, steps: int) -> tuple[Array, Trace]:
    """Train the student; return its end [p] and what `pull_dual` needs."""
    x = constant(x)
    gram = x @ x.T
    weight, out_weight, out_bias = sizes.split(start)

    def step(
        state: tuple[Array, Array, Array, Array], _: None
    ) -> tuple[tuple[Array, Array, Array, Array], tuple[Array, Array, Array]]:
        before, out_weight, out_bias, moved = state
        now = layer(before, out_weight, out_bias, y)
        after = (
            before - step_size * (gram @ now.back),
            out_weight - step_size * (now.hidden.T @ now.residual),
            out_bias - step_size * now.residual.sum(axis=0),
            moved + now.back,
        )
        return after, (before, out_weight, out_bias)

    state = (x @ weight, out_weight, out_bias, jnp.zeros((len(x), sizes.hidden)))
    (_, out_weight, out_bias, moved), kept = lax.scan(step, state, None, length=steps)
    reached = [weight - step_size * (x.T @ moved), out_weight, out_bias]
    return jnp.concatenate([part.ravel() for part in reached]), Trace(weight, step_size, *kept)


def pull_dual(sizes: Sizes, trace: Trace, x: Array, y: Array, direction: Array) -> Array:
    """Return what `pull_primal` does, with the hidden weights of step n written as start - eta * x.T @ moved_n."""
    d_weight, d_out_weight, d_out_bias = sizes.split(direction)
    tangent = constant(x) @ d_weight

    def add(
        sums: tuple[Array, Array, Array], part: tuple[Array, Array, Array]
    ) -> tuple[tuple[Array, Array, Array], None]:
        pulled, moved, across = sums
        before, out_weight, out_bias = part
        now = layer(before, out_weight, out_bias, y)
        up = upstream(now, out_weight, tangent, d_out_weight, d_out_bias)
        return (pulled + up, moved + now.back, across + up @ moved.T), None

    zero = (jnp.zeros_like(tangent), jnp.zeros_like(tangent), jnp.zeros((len(x), len(x))))
    (pulled, moved, across), _ = lax.scan(add, zero, (trace.before, trace.out_weight, trace.out_bias))
    return pulled @ trace.weight[:-1].T - trace.step_size * (across @ x) + moved @ d_weight[:-1].T

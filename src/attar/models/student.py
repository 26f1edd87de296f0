"""The student of any network: plain gradient steps on a small set, and how its gradients pull on the set."""

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array, lax

from attar.models.loss import binary_cross_entropy

if TYPE_CHECKING:
    from attar.models import Model

MEMORY = 512 * 2**20
"""Bytes that what is remembered of a student's steps may take; beyond, it is computed again."""


def student_loss(model: "Model", theta: Array, x: Array, y: Array, rows: Array | None = None) -> Array:
    """Return the student's training loss on all rows or some: no dropout, no prior offset."""
    if rows is not None:
        x, y = x[rows], y[rows]
    return binary_cross_entropy(model.apply(theta, x), y)


def follow(
    model: "Model", start: Array, x: Array, y: Array, step_size: Array, steps: int, batches: Array | None = None
) -> tuple[Array, Array]:
    """Train the student; return its end [p] and the iterates [steps, p] at which gradients were taken.

    batches [steps, rows of a batch] says which rows each step sees; None is all of them.
    """

    def step(theta: Array, rows: Array | None) -> tuple[Array, Array]:
        return theta - step_size * jax.grad(student_loss, 1)(model, theta, x, y, rows), theta

    return lax.scan(step, start, batches, length=steps)


def steepness(model: "Model", theta: Array, x: Array, y: Array, direction: Array, rows: Array | None = None) -> Array:
    """Return <grad loss(theta; x, y), direction>, as a forward derivative so that it can be differentiated cheaply."""
    return jax.jvp(lambda theta: student_loss(model, theta, x, y, rows), (theta,), (direction,))[1]


def pull(model: "Model", iterates: Array, x: Array, y: Array, direction: Array) -> Array:
    """Return the sum over iterates of d/dx <grad loss(iterate; x, y), direction>, by automatic differentiation."""
    return pull_all(model, iterates, x, y, direction)[0]


def pull_all(
    model: "Model", iterates: Array, x: Array, y: Array, direction: Array, batches: Array | None = None
) -> tuple[Array, Array]:
    """Return what `pull` does, and the same with respect to the labels."""

    def add(total: tuple[Array, Array], part: tuple[Array, Array | None]) -> tuple[tuple[Array, Array], None]:
        theta, rows = part
        more = jax.grad(steepness, (2, 3))(model, theta, x, y, direction, rows)
        return (total[0] + more[0], total[1] + more[1]), None

    return lax.scan(add, (jnp.zeros_like(x), jnp.zeros_like(y)), (iterates, batches))[0]


class Entered(Protocol):
    """A network whose first layer is linear in its parameters and in its inputs: apply = leave after enter."""

    def enter(self, theta: Array, x: Array) -> Any:
        """Return the first layer."""

    def leave(self, theta: Array, entered: Any, known: Any = None) -> tuple[Array, Any]:
        """Return logits of what `enter` returned, without dropout, and what of the way there is dear to compute.

        Handed back as `known`, that is not computed again.
        """


class Trace(NamedTuple):
    """A student's iterates [steps, p]; what it entered with and knew at each, or None where that is too much."""

    iterates: Array
    seen: Any


def follow_entered(
    model: Entered, start: Array, x: Array, y: Array, step_size: Array, steps: int
) -> tuple[Array, Trace]:
    """Train the student as `follow` does; remember its way through the network if all steps fit `MEMORY`."""

    def loss(theta: Array) -> tuple[Array, Any]:
        entered = model.enter(theta, x)
        logits, known = model.leave(theta, entered)
        return binary_cross_entropy(logits, y), (entered, known)

    seen = jax.tree.leaves(jax.eval_shape(loss, start)[1])
    fits = steps * sum(4 * part.size for part in seen) <= MEMORY

    def step(theta: Array, _: None) -> tuple[Array, Trace]:
        slope, seen = jax.grad(loss, has_aux=True)(theta)
        return theta - step_size * slope, Trace(theta, seen if fits else None)

    return lax.scan(step, start, length=steps)


def pull_entered(model: Entered, trace: Trace, x: Array, y: Array, direction: Array) -> Array:
    """Return what `pull` does, for a network with a linear first layer.

    The direction's pass through that layer is the same for every step, and so is its way back to the inputs, which
    therefore takes the sum over all steps at once.
    """
    tangent, back = jax.vjp(lambda x: model.enter(direction, x), x)

    def along(theta: Array, entered: Any, tangent: Any, known: Any) -> Array:
        def loss(entered: Any, theta: Array) -> Array:
            return binary_cross_entropy(model.leave(theta, entered, known)[0], y)

        return jax.jvp(loss, (entered, theta), (tangent, direction))[1]

    def add(sums: tuple[Array, Any], step: Trace) -> tuple[tuple[Array, Any], None]:
        entered, back = jax.vjp(lambda x: model.enter(step.iterates, x), x)
        entered, known = step.seen or (entered, None)
        by_entered, by_tangent = jax.grad(along, (1, 2))(step.iterates, entered, tangent, known)
        return (sums[0] + back(by_entered)[0], jax.tree.map(jnp.add, sums[1], by_tangent)), None

    zero = (jnp.zeros_like(x), jax.tree.map(jnp.zeros_like, tangent))
    (through_layer, through_direction), _ = lax.scan(add, zero, trace)
    return through_layer + back(through_direction)[0]

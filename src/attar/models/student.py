"""The student of any network: plain gradient steps on a small set, and how its gradients pull on the set."""

from typing import TYPE_CHECKING, Any, Protocol

import jax
import jax.numpy as jnp
from jax import Array, lax

from attar.models.loss import binary_cross_entropy

if TYPE_CHECKING:
    from attar.models import Model


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

    def leave(self, theta: Array, entered: Any) -> Array:
        """Return logits of what `enter` returned, without dropout."""


def pull_entered(model: Entered, iterates: Array, x: Array, y: Array, direction: Array) -> Array:
    """Return what `pull` does, for a network with a linear first layer.

    The direction's pass through that layer is the same for every step, and so is its way back to the inputs, which
    therefore takes the sum over all steps at once.
    """
    tangent, back = jax.vjp(lambda x: model.enter(direction, x), x)

    def along(theta: Array, entered: Any, tangent: Any) -> Array:
        def loss(entered: Any, theta: Array) -> Array:
            return binary_cross_entropy(model.leave(theta, entered), y)

        return jax.jvp(loss, (entered, theta), (tangent, direction))[1]

    def add(sums: tuple[Array, Any], theta: Array) -> tuple[tuple[Array, Any], None]:
        entered, back = jax.vjp(lambda x: model.enter(theta, x), x)
        by_entered, by_tangent = jax.grad(along, (1, 2))(theta, entered, tangent)
        return (sums[0] + back(by_entered)[0], jax.tree.map(jnp.add, sums[1], by_tangent)), None

    zero = (jnp.zeros_like(x), jax.tree.map(jnp.zeros_like, tangent))
    (through_layer, through_direction), _ = lax.scan(add, zero, iterates)
    return through_layer + back(through_direction)[0]

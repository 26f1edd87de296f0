"""The student of any network: plain gradient steps on a small set, and how its gradients pull on the inputs."""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jax import Array, lax

from attar.models.loss import binary_cross_entropy

if TYPE_CHECKING:
    from attar.models import Model


def student_loss(model: "Model", theta: Array, x: Array, y: Array) -> Array:
    """Return the student's training loss: full batch, no dropout, no prior offset."""
    return binary_cross_entropy(model.apply(theta, x), y)


def follow(model: "Model", start: Array, x: Array, y: Array, step_size: Array, steps: int) -> tuple[Array, Array]:
    """Train the student; return its end [p] and the iterates [steps, p] at which gradients were taken."""

    def step(theta: Array, _: None) -> tuple[Array, Array]:
        return theta - step_size * jax.grad(student_loss, 1)(model, theta, x, y), theta

    return lax.scan(step, start, None, length=steps)


def steepness(model: "Model", theta: Array, x: Array, y: Array, direction: Array) -> Array:
    """Return <grad loss(theta; x, y), direction>, as a forward derivative so that it can be differentiated cheaply."""
    return jax.jvp(lambda theta: student_loss(model, theta, x, y), (theta,), (direction,))[1]


def pull(model: "Model", iterates: Array, x: Array, y: Array, direction: Array) -> Array:
    """Return the sum over iterates of d/dx <grad loss(iterate; x, y), direction>, by automatic differentiation."""

    def add(total: Array, theta: Array) -> tuple[Array, None]:
        return total + jax.grad(steepness, 2)(model, theta, x, y, direction), None

    return lax.scan(add, jnp.zeros_like(x), iterates)[0]

"""How far predictions move when parameters do: gaps between two networks, and how steep a network is at most.

A network's predictions are its risks on the same real patients. Their distance is the root of the mean square over
patients and labels; the Lipschitz constant is with respect to that distance and the distance of parameters.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.nn import sigmoid

from attar.models import Model

ROWS, UNITS = 256, 2**18
"""Patients on whom predictions are compared: fewer, but 16, if all their hidden units are more than this."""

TINY = 1e-30

ROUNDS = 12
"""Rounds of power iteration for a largest singular value."""


def sample(model: Model, x: np.ndarray) -> Array:
    """Return evenly spaced patients on whom predictions are compared."""
    wanted = min(len(x), max(16, min(ROWS, UNITS // math.prod(model.units(1)))))
    return jnp.asarray(x[np.linspace(0, len(x) - 1, wanted).astype(int)])


def risks(model: Model, theta: Array, x: Array) -> Array:
    """Return predicted risks, so scaled that a norm is the root of the mean square."""
    logits = model.apply(theta, x)
    return sigmoid(logits) / math.sqrt(logits.size)


@partial(jax.jit, static_argnames="model")
def gaps(model: Model, thetas: np.ndarray, others: np.ndarray, x: Array) -> Array:
    """Return how far the predictions of networks [n, p] are from those of n others."""
    return lax.map(lambda pair: jnp.linalg.norm(risks(model, pair[0], x) - risks(model, pair[1], x)), (thetas, others))


@partial(jax.jit, static_argnames="model")
def steepness(model: Model, thetas: np.ndarray, x: Array) -> Array:
    """Return the largest singular value of the predictions' Jacobian at networks [n, p], by power iteration."""

    def one(theta: Array) -> Array:
        def predict(theta: Array) -> Array:
            return risks(model, theta, x)

        def turn(direction: Array, _: None) -> tuple[Array, Array]:
            change = jax.jvp(predict, (theta,), (direction,))[1]
            back = jax.vjp(predict, theta)[1](change)[0]
            return back / jnp.maximum(jnp.linalg.norm(back), TINY), jnp.linalg.norm(change)

        first = jax.grad(lambda theta: jnp.sum(predict(theta)))(theta)
        start = first / jnp.maximum(jnp.linalg.norm(first), TINY)
        return lax.scan(turn, start, None, length=ROUNDS)[1][-1]

    return lax.map(one, thetas)


def between(
    thetas: np.ndarray, others: np.ndarray, shares: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
) -> np.ndarray:
    """Return networks [n * shares, p] on the straight lines between networks [n, p] and n others."""
    return np.concatenate([np.float32(1 - share) * thetas + np.float32(share) * others for share in shares])


def lipschitz(model: Model, thetas: np.ndarray, others: np.ndarray, x: Array) -> float:
    """Return the empirical Lipschitz constant of the predictions: how steep they are at most between networks.

    It is the greatest at sampled points of the straight lines between networks [n, p] and n others, whichever way.
    """
    return float(np.max(steepness(model, between(thetas, others), x)))

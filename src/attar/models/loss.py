"""The training loss shared by teachers, students and evaluations."""

import jax.numpy as jnp
from jax import Array
from jax.nn import softplus


def binary_cross_entropy(logits: Array, y: Array, weights: Array | None = None) -> Array:
    """Mean over rows and labels of the cross-entropy of logits against 0/1 labels, optionally weighted per entry."""
    entries = softplus(logits) - y * logits
    return jnp.mean(entries if weights is None else weights * entries)

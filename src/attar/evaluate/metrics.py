"""Ranking scores computed inside jit, equal to scikit-learn's (ties included); a new metric is a row in `METRICS`."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax


def ranked(scores: Array, y: Array) -> tuple[Array, Array]:
    """Return scores in ascending order with their labels.

    XLA sorts one array of integers several times faster than pairs, so score and label travel in one 32-bit word: the
    bits of a float, made to sort like unsigned integers, less the lowest bit, which carries the label. Scores closer
    than two units in the last place therefore count as tied.
    """
    bits = lax.bitcast_convert_type(jnp.where(scores == 0, 0.0, scores), jnp.uint32)
    ordered = jnp.where(bits >> 31, ~bits, bits | jnp.uint32(1 << 31))
    words = jnp.sort((ordered & ~jnp.uint32(1)) | y.astype(jnp.uint32))
    return words >> 1, (words & 1).astype(jnp.float32)


def average_precision(scores: Array, y: Array) -> Array:
    """AUPRC of one label: the mean over positives of the precision at their score."""
    ordered, hits = ranked(scores, y)
    at_or_above = jnp.cumsum(hits[::-1])[::-1]
    position = jnp.arange(hits.size)
    first_of_tie = ordered != jnp.roll(ordered, 1)
    start = lax.cummax(jnp.where(first_of_tie.at[0].set(True), position, 0))
    precision = at_or_above[start] / (hits.size - start)
    return jnp.sum(hits * precision) / jnp.sum(hits)


def area_under_roc(scores: Array, y: Array) -> Array:
    """AUROC of one label: the share of (positive, negative) pairs in the right order, ties counting half."""
    ordered, hits = ranked(scores, y)
    position = jnp.arange(hits.size)
    first_of_tie = (ordered != jnp.roll(ordered, 1)).at[0].set(True)
    last_of_tie = (ordered != jnp.roll(ordered, -1)).at[-1].set(True)
    start = lax.cummax(jnp.where(first_of_tie, position, 0))
    end = lax.cummin(jnp.where(last_of_tie, position, hits.size), reverse=True)
    positives = jnp.sum(hits)
    wins = jnp.sum(hits * (start + end) / 2) - positives * (positives - 1) / 2
    return wins / (positives * (hits.size - positives))


METRICS: dict[str, Callable[[Array, Array], Array]] = {"auroc": area_under_roc, "auprc": average_precision}


FEW = 10
"""A label with fewer positives or negatives than this has no part in a mean over several labels: it would be noise."""


def per_label(metric: Callable[[Array, Array], Array], logits: Array, y: Array) -> Array:
    """Return the metric of each label of logits [rows, labels]."""
    return jax.vmap(metric, (1, 1))(logits, y)


def counted(y: Array | np.ndarray) -> Array:
    """Tell which labels of y [rows, labels] have a part in the mean over labels; all, if none has enough positives."""
    positives = y.sum(axis=0)
    enough = jnp.minimum(positives, len(y) - positives) >= FEW
    return enough | ~enough.any()


def macro(values: Array, y: Array) -> Array:
    """Return the mean of values [..., labels] over the labels that count."""
    return jnp.mean(values, axis=-1, where=counted(y))

"""How much of what teachers do is the prior: their displacements split by tensor, and by what they do to the classes.

A balanced set cannot teach the cohort's prevalence. An ordinary teacher moves where all patients' risks fall or rise
together; a prior-aligned one has that in its loss. To first order, a displacement moves the mean logit of the positives
along one gradient and that of the negatives along another: its part along their mean moves both classes alike, its part
along the rest of their plane moves them apart.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from attar.geometry.reach import by_tensor, orthonormal
from attar.models import Model, flat

UNITS = 2**22
"""Hidden units of the patients on whom class means are taken; of more patients, evenly spaced ones."""


class Classes(NamedTuple):
    """Patients x [rows, width] and weights [rows, labels] that make sums over rows the means of a class."""

    x: Array
    negative: Array
    positive: Array


def classes(model: Model, x: np.ndarray, y: np.ndarray) -> Classes:
    """Return patients of both classes of every label, as many as memory allows.

    Labels with a single class among them have weights of zero there.
    """
    wanted = max(2, UNITS // math.prod(model.units(1)))
    order = np.argsort(y.sum(axis=1), kind="stable") if len(x) > wanted else np.arange(len(x))
    some = order[np.linspace(0, len(x) - 1, min(wanted, len(x))).astype(int)]
    weights = [side / np.maximum(side.sum(axis=0), 1) for side in (1 - y[some], y[some])]
    return Classes(jnp.asarray(x[some]), *map(jnp.asarray, weights))


@partial(jax.jit, static_argnames="model")
def pulls(model: Model, theta: Array, patients: Classes) -> tuple[Array, Array]:
    """Return, for negatives and positives, the mean logits [2, labels] and their gradients [2, labels, p]."""

    def means(theta: Array) -> Array:
        logits = model.apply(theta, patients.x)
        return jnp.stack([jnp.sum(logits * side, axis=0) for side in (patients.negative, patients.positive)])

    values, back = jax.vjp(means, theta)
    rows = jnp.eye(values.size).reshape(-1, *values.shape)
    return values, lax.map(lambda row: back(row)[0], rows).reshape(*values.shape, -1)


def split(model: Model, starts: np.ndarray, ends: np.ndarray, patients: Classes) -> dict[str, Any]:
    """Return how the displacement energy of teachers [teachers, p] splits, each share the mean over teachers.

    by_tensor: the parameter tensors. alike, apart, rest: what moves the classes' mean logits alike, apart, or neither,
    by their gradients half-way. logit_shift: how far the mean logits of negatives and positives went in fact.
    """
    tensors = model.tensors
    shares, parts, shifts = [], [], []
    for start, end in zip(starts, ends, strict=True):
        move = end.astype(np.float64) - start
        energy = max(float(move @ move), np.finfo(float).tiny)
        shares.append(by_tensor(move, flat.sizes(tensors)) / energy)
        negative, positive = np.asarray(pulls(model, jnp.asarray((start + end) / 2), patients)[1], np.float64)
        alike = orthonormal(negative + positive)
        both = orthonormal(np.concatenate([negative, positive]))
        along, within = (float(np.sum((basis @ move) ** 2)) / energy for basis in (alike, both))
        parts.append((along, max(within - along, 0.0), max(1 - within, 0.0)))
        before, after = (pulls(model, jnp.asarray(theta), patients)[0].mean(axis=1) for theta in (start, end))
        shifts.append(after - before)
    return {
        "by_tensor": dict(zip(tensors, np.mean(shares, axis=0).tolist(), strict=True)),
        "output_bias": float(np.mean(shares, axis=0)[-1]),
        **dict(zip(("alike", "apart", "rest"), np.mean(parts, axis=0).tolist(), strict=True)),
        "logit_shift": dict(zip(("negative", "positive"), np.mean(shifts, axis=0).tolist(), strict=True)),
    }

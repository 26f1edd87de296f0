"""How the condensed patients start: which rows, which labels."""

from typing import NamedTuple

import numpy as np

JITTER = 0.1
"""Spread, in standard deviations, of the noise on rows that had to be drawn more than once."""


class Initial(NamedTuple):
    """Inputs [rows, features], labels [rows, labels], the training row each came from, what the user should know."""

    x: np.ndarray
    y: np.ndarray
    source: np.ndarray
    notes: tuple[str, ...]


def budget(y: np.ndarray, per_class: int) -> int:
    """Count the condensed patients: per class for one label; per_class x labels / mean cardinality for several."""
    labels = y.shape[1]
    return 2 * per_class if labels == 1 else round(per_class * labels / y.sum(axis=1).mean())


def draw(x: np.ndarray, y: np.ndarray, per_class: int, start: str, rng: np.random.Generator) -> Initial:
    """Draw a starting set: real rows, or Gaussians with each class's mean and covariance ("gaussian")."""
    rows, repeated, notes = [], np.zeros(0, bool), []
    for name, pool, wanted in shares(y, per_class):
        short = wanted > len(pool)
        chosen = rng.choice(pool, wanted, replace=short)
        rows.append(chosen)
        repeated = np.concatenate([repeated, np.full(wanted, short)])
        if short:
            notes.append(
                f"{name} has {len(pool)} training rows, fewer than the {wanted} condensed patients asked for: "
                "they were drawn with replacement and slightly jittered."
            )
    source = np.concatenate(rows)
    inputs, labels = x[source].copy(), y[source]
    inputs[repeated] += JITTER * rng.standard_normal(inputs[repeated].shape)
    if start == "gaussian":
        for pattern in np.unique(labels, axis=0):
            mine, pool = (labels == pattern).all(axis=1), (y == pattern).all(axis=1)
            covariance = np.atleast_2d(np.cov(x[pool], rowvar=False)) if pool.sum() > 1 else np.eye(x.shape[1])
            inputs[mine] = rng.multivariate_normal(x[pool].mean(axis=0), covariance, mine.sum(), method="eigh")
        source = np.full(len(source), -1)
    return Initial(inputs.astype(np.float32), labels.astype(np.float32), source, tuple(notes))


def shares(y: np.ndarray, per_class: int) -> list[tuple[str, np.ndarray, int]]:
    """List (name, candidate rows, rows wanted): the two classes, or each label's positives and the rest."""
    if y.shape[1] == 1:
        return [(f"Class {value}", np.flatnonzero(y[:, 0] == value), per_class) for value in (0, 1)]
    pools = [("No label", np.flatnonzero(y.sum(axis=1) == 0))]
    pools += [(f"Label {label}", np.flatnonzero(y[:, label] == 1)) for label in range(y.shape[1])]
    pools = [(name, pool) for name, pool in pools if len(pool)]
    total = budget(y, per_class)
    return [
        (name, pool, total // len(pools) + (position < total % len(pools)))
        for position, (name, pool) in enumerate(pools)
    ]

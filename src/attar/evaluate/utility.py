"""Train on a set, test on real patients: the scores of the full cohort, of random subsets and of condensed sets."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from attar import train
from attar.evaluate.metrics import METRICS, average_precision, counted, macro, per_label
from attar.models import Model
from attar.recipe import Evaluate, Receiving

MEMORY = 32 * 2**20
"""Bytes of activations that small sets trained side by side may take."""

ROUND = 256
"""Validation patients are filled up to a multiple of this, so that another seed's split compiles nothing anew."""


def fit_small(model: Model, theta: Array, x: Array, y: Array, key: Array, settings: Receiving) -> Array:
    """Train networks [networks, p] on all rows of a small set at once, as often as its receiver would."""
    return fit_lengths(model, theta, x, y, key, settings, (settings.epochs,))[0]


def fit_lengths(
    model: Model, theta: Array, x: Array, y: Array, key: Array, settings: Receiving, lengths: tuple[int, ...]
) -> Array:
    """Train networks [networks, p] as `fit_small` does; return them after each of these epochs [lengths, networks, p].

    The lengths ascend.
    """
    task, keys = train.Task(x, y, jnp.zeros(y.shape[1])), jax.random.split(key, lengths[-1])

    def one(fit: train.Fit, key: Array) -> tuple[train.Fit, None]:
        stride, decay = train.stride(settings.step_size, y), train.shrinkage(settings.weight_decay, y)
        return train.epoch(model, fit, task, key, stride, settings.momentum, len(x), weight_decay=decay), None

    fit, reached = train.begin(theta), []
    for done, length in pairwise((0, *lengths)):
        fit, _ = lax.scan(one, fit, keys[done:length])
        reached.append(fit.theta)
    return jnp.stack(reached)


def patience(epochs: int) -> int:
    """Return after how many epochs without a better validation score training on all real rows ends, of so many."""
    return max(1, round(0.15 * epochs))


def fit_full(
    model: Model,
    theta: Array,
    task: train.Task,
    x_validation: Array,
    y_validation: Array,
    key: Array,
    settings: Evaluate,
    watch: Callable[[int], None] = lambda epoch: None,
) -> tuple[Array, Array]:
    """Train networks [networks, p] on all real rows; keep each at its best validation epoch, as the owner would.

    Ends early when none got better for a while, see `patience`. Returns the networks and their validation AUPRC.
    """
    fit, best, best_score, last = train.begin(theta), theta, jnp.full(len(theta), -1.0), 0
    for epoch in range(settings.epochs):
        step_key = jax.random.fold_in(key, epoch)
        fit = train.epoch(
            model, fit, task, step_key, train.stride(settings.step_size, task.y), settings.momentum, settings.batch
        )
        score = macro(measure(model, fit.theta, task.x, x_validation, y_validation)["auprc"], y_validation)
        better = score > best_score
        best, best_score = jnp.where(better[:, None], fit.theta, best), jnp.where(better, score, best_score)
        watch(epoch + 1)
        last = epoch if better.any() else last
        if epoch - last == patience(settings.epochs):
            break
    return best, best_score


def predict(model: Model, theta: Array, trained_on: Array, x: Array) -> Array:
    """Return logits [rows, labels] of one network, normalised by the rows that it was trained on."""
    return model.apply(theta, x, stats=model.calibrate(theta, trained_on))


@partial(jax.jit, static_argnames="model")
def measure(
    model: Model, theta: Array, trained_on: Array, x: Array, y: Array, rest: Array | None = None
) -> dict[str, Array]:
    """Return each metric of networks [networks, p] on real rows, {name: [networks, labels]}.

    With `rest` [groups, rows] also "without": AUPRC [networks, groups, labels] without each group of patients.
    """

    def one(theta: Array) -> dict[str, Array]:
        logits = predict(model, theta, trained_on, x)
        found = {name: per_label(metric, logits, y) for name, metric in METRICS.items()}
        if rest is not None:
            found["without"] = lax.map(lambda rows: per_label(average_precision, logits[rows], y[rows]), rest)
        return found

    return lax.map(one, theta)


Rows = tuple[Array, ...]
"""Real patients: inputs [rows, features], labels [rows, labels] and, if that is asked, `left_out` of them."""


@partial(jax.jit, static_argnames=("model", "settings"))
def measure_small(
    model: Model, theta: Array, x: Array, y: Array, key: Array, settings: Evaluate, validation: Rows, test: Rows
) -> tuple[dict[str, Array], Array]:
    """Return each metric of networks trained on one small set, {name: [networks, labels]}, and their epochs.

    Of the settings' lengths, the one with the best mean validation AUPRC counts, for all networks alike: it is shipped
    with the set.
    """
    fits = fit_lengths(model, theta, x, y, key, settings, settings.lengths)
    best = jnp.int32(0)
    if len(fits) > 1:
        scores = lax.map(lambda theta: macro(measure(model, theta, x, *validation)["auprc"], validation[1]), fits)
        best = jnp.argmax(scores.mean(axis=1))
    return measure(model, fits[best], x, *test), jnp.asarray(settings.lengths)[best]


def jackknife_error(differences: Array) -> Array:
    """Return the standard error of a difference, from those [groups] found with one group of patients left out."""
    groups = differences.shape[0]
    return jnp.sqrt((groups - 1) / groups * jnp.sum((differences - differences.mean()) ** 2))


def left_out(y: np.ndarray, groups: int) -> np.ndarray:
    """Return the rows [groups, rows] without those of each of so many groups that are alike in their labels."""
    if not groups:
        return np.zeros((0, len(y)), int)
    order = np.lexsort((*y.T, y.sum(axis=1)))
    group = np.empty(len(y), int)
    group[order] = np.arange(len(y)) % groups
    rest = len(y) - int(np.bincount(group, minlength=groups).max())
    return np.stack([np.flatnonzero(group != index)[:rest] for index in range(groups)])


@partial(
    jax.tree_util.register_dataclass, data_fields=["theta", "key", "x", "y", "rows", "counts", "rest"], meta_fields=[]
)
@dataclass(frozen=True)
class Scorer:
    """Scores many versions of a small set by the mean validation AUPRC of the same fresh networks trained on each.

    Only the first `rows` of x and y are patients; the others, to a multiple of `ROUND`, rank below them and have no
    label, which leaves AUPRC as it is. `counts` are the labels that have a part in the mean. `rest` [groups, rows] are
    the rows that are left without each group of patients.
    """

    theta: Array
    key: Array
    x: Array
    y: Array
    rows: Array
    counts: Array
    rest: Array

    @classmethod
    def of(cls, theta: Array, key: Array, x: np.ndarray, y: np.ndarray, groups: int = 0) -> Self:
        """Return a scorer with these networks [networks, p] on these validation rows."""
        more, rest = ROUND - len(x) % ROUND, left_out(y, groups)
        nobody = np.full((len(rest), len(x) + more - rest.shape[1]), len(x))
        return cls(
            theta,
            key,
            jnp.asarray(np.pad(x, ((0, more), (0, 0)))),
            jnp.asarray(np.pad(y, ((0, more), (0, 0)))),
            jnp.asarray(np.int32(len(x))),
            jnp.asarray(counted(y)),
            jnp.asarray(np.concatenate([rest, nobody], axis=1)),
        )

    def score(self, model: Model, inputs: Array, labels: Array, settings: Receiving) -> Array:
        """Return the scores [versions, 1 + groups] of inputs [versions, rows, features] with labels [versions, ...].

        First on all patients, then without each group of them.
        """

        def one(version: tuple[Array, Array]) -> Array:
            trained = fit_small(model, self.theta, *version, self.key, settings)

            def values(theta: Array) -> Array:
                patients = jnp.arange(len(self.x))[:, None] < self.rows
                logits = jnp.where(patients, predict(model, theta, version[0], self.x), -jnp.inf)

                def among(logits: Array, y: Array) -> Array:
                    return jnp.mean(per_label(average_precision, logits, y), where=self.counts)

                parts = lax.map(lambda rows: among(logits[rows], self.y[rows]), self.rest)
                return jnp.concatenate([among(logits, self.y)[None], parts])

            return jnp.mean(lax.map(values, trained), axis=0)

        together = min(len(inputs), self.together(model, inputs.shape[1]))
        return lax.map(one, (inputs, labels), batch_size=together)

    def together(self, model: Model, rows: int) -> int:
        """Count the versions of a set of so many rows whose networks are trained side by side."""
        return max(1, MEMORY // (4 * len(self.theta) * int(np.prod(model.units(rows)))))

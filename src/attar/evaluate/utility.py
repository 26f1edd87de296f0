"""Train on a set, test on real patients: the scores of the full cohort, of random subsets and of condensed sets."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from attar import train
from attar.evaluate.metrics import METRICS, average_precision, macro, per_label
from attar.models import Model
from attar.recipe import Training

MEMORY = 32 * 2**20
"""Bytes of activations that small sets trained side by side may take."""


def stride(settings: Training, y: Array) -> float:
    """Return the step size for labels [rows, labels]: the loss is their mean, so each of many would learn slowly."""
    return settings.step_size * math.sqrt(y.shape[1])


def fit_small(model: Model, theta: Array, x: Array, y: Array, key: Array, settings: Training) -> Array:
    """Train networks [networks, p] on one small set for a fixed number of epochs, as its receiver would."""
    task = train.Task(x, y, jnp.zeros(y.shape[1]))

    def one(fit: train.Fit, key: Array) -> tuple[train.Fit, None]:
        return train.epoch(model, fit, task, key, stride(settings, y), settings.momentum, settings.batch), None

    return lax.scan(one, train.begin(theta), jax.random.split(key, settings.epochs))[0].theta


def fit_full(
    model: Model,
    theta: Array,
    x: Array,
    y: Array,
    x_validation: Array,
    y_validation: Array,
    key: Array,
    settings: Training,
    watch: Callable[[int], None] = lambda epoch: None,
) -> Array:
    """Train networks [networks, p] on all real rows; keep each at its best validation epoch, as the owner would."""
    task = train.Task(x, y, jnp.zeros(y.shape[1]))
    fit, best, best_score = train.begin(theta), theta, jnp.full(len(theta), -1.0)
    for epoch in range(settings.epochs):
        step_key = jax.random.fold_in(key, epoch)
        fit = train.epoch(model, fit, task, step_key, stride(settings, y), settings.momentum, settings.batch)
        score = macro(measure(model, fit.theta, x, x_validation, y_validation)["auprc"], y_validation)
        better = score > best_score
        best, best_score = jnp.where(better[:, None], fit.theta, best), jnp.where(better, score, best_score)
        watch(epoch + 1)
    return best


def predict(model: Model, theta: Array, trained_on: Array, x: Array) -> Array:
    """Return logits [rows, labels] of one network, normalised by the rows that it was trained on."""
    return model.apply(theta, x, stats=model.calibrate(theta, trained_on))


@partial(jax.jit, static_argnames="model")
def measure(model: Model, theta: Array, trained_on: Array, x: Array, y: Array) -> dict[str, Array]:
    """Return each metric of networks [networks, p] on real rows, {name: [networks, labels]}."""

    def one(theta: Array) -> dict[str, Array]:
        logits = predict(model, theta, trained_on, x)
        return {name: per_label(metric, logits, y) for name, metric in METRICS.items()}

    return lax.map(one, theta)


@partial(jax.jit, static_argnames=("model", "settings"))
def measure_small(
    model: Model, theta: Array, x: Array, y: Array, key: Array, settings: Training, x_test: Array, y_test: Array
) -> dict[str, Array]:
    """Return each metric of networks trained on one small set, {name: [networks, labels]}."""
    return measure(model, fit_small(model, theta, x, y, key, settings), x, x_test, y_test)


@partial(jax.tree_util.register_dataclass, data_fields=["theta", "key", "x", "y"], meta_fields=[])
@dataclass(frozen=True)
class Scorer:
    """Scores many versions of a small set by the mean validation AUPRC of the same fresh networks trained on each."""

    theta: Array
    key: Array
    x: Array
    y: Array

    def score(self, model: Model, inputs: Array, labels: Array, settings: Training) -> Array:
        """Return one score for each of inputs [versions, rows, features] with labels [versions, rows, labels]."""

        def one(version: tuple[Array, Array]) -> Array:
            trained = fit_small(model, self.theta, *version, self.key, settings)

            def value(theta: Array) -> Array:
                return per_label(average_precision, predict(model, theta, version[0], self.x), self.y)

            return jnp.mean(macro(lax.map(value, trained), self.y))

        together = min(len(inputs), self.together(model, inputs.shape[1]))
        return lax.map(one, (inputs, labels), batch_size=together)

    def together(self, model: Model, rows: int) -> int:
        """Count the versions of a set of so many rows whose networks are trained side by side."""
        return max(1, MEMORY // (4 * len(self.theta) * int(np.prod(model.units(rows)))))

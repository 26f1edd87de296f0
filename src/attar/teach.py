"""Teachers: networks trained on the real training split, many at once; a new optimiser is a row in `OPTIMISERS`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import logit

from attar import train
from attar.gsam import Gsam
from attar.models import Model
from attar.recipe import Teachers as Settings
from attar.seeds import stream

MEMORY = 512 * 2**20
"""Bytes that the activations of teachers trained together may take; more teachers go in several groups."""

OPTIMISERS: dict[str, Callable[[Settings], train.Direction]] = {
    "sgd": lambda settings: train.gradient,
    "gsam": lambda settings: Gsam(settings.radius, settings.surrogate, settings.adaptive),
}


PRIORS = ("none", "weighted", "aligned")
"""What a network may learn of the prevalence: see `task`."""


@dataclass(frozen=True)
class Teachers:
    """Parameters [teachers, points, p] at chosen epochs: the first is the initialisation, the last the solution."""

    points: np.ndarray

    @property
    def starts(self) -> np.ndarray:
        """Initialisations [teachers, p]."""
        return self.points[:, 0]

    @property
    def ends(self) -> np.ndarray:
        """Solutions [teachers, p]."""
        return self.points[:, -1]


class Progress(NamedTuple):
    """Where teaching stands: what a run folder saves, so that an interrupted one goes on."""

    epochs: int
    fit: train.Fit
    points: np.ndarray


def task(x: np.ndarray, y: np.ndarray, prior: str, condensed_prevalence: np.ndarray) -> train.Task:
    """Return what teachers learn.

    aligned: the loss adds logit(prevalence of the cohort) - logit(prevalence of the condensed set) to the logits, so
    that theta carries the likelihood ratio and not the prior, which no balanced set could teach a student. none: the
    plain loss. weighted: both classes weigh the same.
    """
    prevalence = y.mean(axis=0)
    offset = np.zeros_like(prevalence)
    weights = None
    if prior == "aligned":
        offset = np.asarray(logit(prevalence) - logit(condensed_prevalence))
    elif prior == "weighted":
        weights = jnp.asarray(np.where(y == 1, 0.5 / prevalence, 0.5 / (1 - prevalence)))
    return train.Task(jnp.asarray(x), jnp.asarray(y), jnp.asarray(offset), weights)


def groups(model: Model, settings: Settings) -> list[slice]:
    """Split the teachers into groups whose activations fit `MEMORY`."""
    units = int(np.prod(model.units(settings.batch)))
    size = max(1, MEMORY // (16 * units))
    return [slice(start, min(start + size, settings.count)) for start in range(0, settings.count, size)]


def left(settings: Settings, epoch: int) -> tuple[float, float]:
    """Return the share of the step size at the beginning of an epoch and of the next."""
    if settings.decay == "none":
        return 1.0, 1.0
    return 1 - epoch / settings.epochs, 1 - (epoch + 1) / settings.epochs


def starts(model: Model, seed: int, count: int) -> Array:
    """Draw the initialisations of all teachers [count, p]; they need not be stored."""
    return train.fresh(model, stream(seed, "teachers"), count)


def teach_group(model: Model, task: train.Task, settings: Settings, seed: int, group: int) -> np.ndarray:
    """Train one of `groups` alone; return its teachers at every epoch's end, as `teach` would have them."""
    begin, plan = starts(model, seed, settings.count), groups(model, settings)
    points = np.zeros((settings.count, settings.epochs + 1, model.size), np.float32)
    points[:, 0] = begin
    first = Progress(group * settings.epochs, train.begin(begin[plan[group]]), points)
    return teach(model, task, settings, seed, True, first, until=first.epochs + settings.epochs).points[plan[group]]


def teach(
    model: Model,
    task: train.Task,
    settings: Settings,
    seed: int,
    every_epoch: bool = False,
    resume: Progress | None = None,
    watch: Callable[[Progress], None] = lambda progress: None,
    until: int | None = None,
) -> Teachers:
    """Train all teachers; keep their parameters at every epoch's end only if a method needs them.

    `watch` sees the state after each epoch of each group; handed back as `resume`, it continues to the same bytes.
    `until` ends after so many epochs of all groups together.
    """
    begin, plan = starts(model, seed, settings.count), groups(model, settings)
    direction = OPTIMISERS[settings.optimiser](settings)
    kept = settings.epochs + 1 if every_epoch else 2
    if resume is None:
        points = np.zeros((settings.count, kept, model.size), np.float32)
        points[:, 0] = begin
        resume = Progress(0, train.begin(begin[plan[0]]), points)
    done, fit, points = resume
    for index in range(done, until or len(plan) * settings.epochs):
        group, epoch = divmod(index, settings.epochs)
        if epoch == 0:
            fit = train.begin(begin[plan[group]])
        key = jax.random.fold_in(stream(seed, "teaching"), index)
        fit = train.epoch(
            model,
            fit,
            task,
            key,
            train.stride(settings.step_size, task.y),
            settings.momentum,
            settings.batch,
            left(settings, epoch),
            direction,
        )
        points[plan[group], min(epoch + 1, kept - 1)] = fit.theta
        watch(Progress(index + 1, fit, points))
    return Teachers(points)

"""How long teachers are trained: a few networks go ahead, until they no longer get better on the validation split.

A number of epochs that suits one cohort leaves another's teachers half taught: that depends on how many rows it has,
how rare its outcomes are and how many there are.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from attar import train
from attar.evaluate.metrics import macro
from attar.evaluate.utility import measure
from attar.models import Model
from attar.prepare import Arrays
from attar.recipe import Teachers as Settings
from attar.seeds import stream

PATIENCE, SMOOTH = 8, 24
"""Parts of the longest training: without a better score for one of the former, pilots end; a score is averaged over one
of the latter, because one epoch's differs from the next by chance."""


def find_epochs(
    model: Model, task: train.Task, data: Arrays, settings: Settings, seed: int, watch: Callable[[int], None]
) -> int:
    """Return after how many epochs networks trained as teachers are best on validation, within the settings' range.

    All methods are given the same number, so the pilots descend plainly whatever a method's teachers do.
    """
    fit = train.begin(train.fresh(model, stream(seed, "pilots"), settings.pilots))
    x, y = jnp.asarray(data.x_validation), jnp.asarray(data.y_validation)
    scores: list[float] = []
    patience, smooth = (max(1, settings.longest // parts) for parts in (PATIENCE, SMOOTH))
    for epoch in range(settings.longest):
        key = jax.random.fold_in(stream(seed, "pilots"), epoch)
        stride = train.stride(settings.step_size, task.y)
        fit = train.epoch(model, fit, task, key, stride, settings.momentum, settings.batch)
        scores.append(float(jnp.mean(macro(measure(model, fit.theta, task.x, x, y)["auprc"], y))))
        watch(epoch + 1)
        if epoch - int(np.argmax(smoothed(scores, smooth))) >= patience and epoch + 1 >= settings.epochs:
            break
    return max(settings.epochs, int(np.argmax(smoothed(scores, smooth))) + 1)


def smoothed(scores: list[float], epochs: int) -> np.ndarray:
    """Return the mean of each score and those just before it, over so many epochs."""
    sums = np.cumsum([0.0, *scores])
    last = np.arange(1, len(sums))
    first = np.maximum(last - epochs, 0)
    return (sums[last] - sums[first]) / (last - first)

"""The arms of a run: the full cohort, random subsets, the condensed table and the condensed arrays, scored alike."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from attar import initial, train
from attar.evaluate import utility
from attar.models import Model
from attar.prepare import Arrays
from attar.progress import Watch
from attar.recipe import Recipe
from attar.seeds import stream

Scores = dict[str, Any]
Set = tuple[np.ndarray, np.ndarray]


def score_arms(model: Model, arrays: Arrays, condensed: Mapping[str, Set], recipe: Recipe, watch: Watch) -> Scores:
    """Train the same fresh networks on every arm and test them once on the test split; `condensed` maps arm to (x, y).

    The full cohort's networks are kept at their best validation epoch. A small set's networks train for a fixed number
    of epochs, because who receives only the small set has no validation data.
    """
    settings, key = recipe.evaluate, stream(recipe.seed, "evaluate")
    theta = train.fresh(model, key, settings.initialisations)
    test = jnp.asarray(arrays.x_test), jnp.asarray(arrays.y_test)
    watch.stage("scores", settings.epochs + settings.draws + len(condensed))

    full = utility.fit_full(
        model,
        theta,
        jnp.asarray(arrays.x_train),
        jnp.asarray(arrays.y_train),
        jnp.asarray(arrays.x_validation),
        jnp.asarray(arrays.y_validation),
        key,
        settings,
        lambda epoch: watch.update(epoch, "full"),
    )
    arms = {"full": _arm(len(arrays.x_train), [utility.measure(model, full, *test)])}

    def small(x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
        return utility.measure_small(model, theta, jnp.asarray(x), jnp.asarray(y), key, settings, *test)

    draws, rows = [], initial.budget(arrays.y_train, recipe.per_class)
    for draw in range(settings.draws):
        rng = np.random.default_rng([recipe.seed, draw])
        subset = initial.draw(arrays.x_train, arrays.y_train, recipe.per_class, "real", rng)
        draws.append(small(subset.x, subset.y))
        watch.update(settings.epochs + draw + 1, "random")
    arms["random"] = _arm(rows, draws)

    for number, (name, (x, y)) in enumerate(condensed.items()):
        arms[name] = _arm(len(x), [small(x, y)])
        watch.update(settings.epochs + settings.draws + number + 1, name)
    return arms


def _arm(rows: int, measured: list[dict[str, Any]]) -> Scores:
    arm: Scores = {"rows": rows}
    for metric in measured[0]:
        values = np.concatenate([np.asarray(part[metric], np.float64) for part in measured])
        arm[metric] = {"mean": float(values.mean()), "std": float(values.std(ddof=1)) if len(values) > 1 else 0.0}
        arm[metric]["values"] = values.tolist()
    return arm

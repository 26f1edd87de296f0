"""The arms of a run: the full cohort, random subsets, the condensed table and the condensed arrays, scored alike."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from attar import initial, teach, train
from attar.evaluate import utility
from attar.evaluate.metrics import METRICS, counted
from attar.models import Model
from attar.prepare import Arrays
from attar.progress import Watch
from attar.recipe import Recipe
from attar.seeds import stream
from attar.share import Share

Scores = dict[str, Any]
Set = tuple[np.ndarray, np.ndarray]
Measured = dict[str, Any]
"""Metrics [networks, labels] by name; "without" as `utility.measure` has it; "epochs" if trained on a small set."""

GROUPS = 20
"""Groups of test patients that are left out in turn, to learn how much of a share depends on who is tested."""


def score_arms(
    model: Model,
    arrays: Arrays,
    condensed: Mapping[str, Set],
    labels: Sequence[str],
    recipe: Recipe,
    watch: Watch,
    share: Share,
    key: Mapping[str, Any],
) -> Scores:
    """Train the same fresh networks on every arm and test them once on the test split; `condensed` maps arm to (x, y).

    The full cohort's networks learn with each of `teach.PRIORS` and are kept at their best validation epoch; those of
    the prior with the best validation score count. So do those of a set of more than half its rows. A small set's
    networks train for the number of epochs, one of a few, that serves the owner's validation patients best: it is
    shipped with the set, because who receives only that has no validation data. What does not depend on the condensed
    set is shared under `key`.
    """
    settings = recipe.evaluate
    large, small = trials(model, arrays, recipe)
    full_epochs = len(teach.PRIORS) * settings.full_epochs
    watch.stage("scores", full_epochs + settings.draws + len(condensed))

    def full() -> Scores:
        whole = large(arrays.x_train, arrays.y_train, lambda epoch: watch.update(epoch, "full"))
        watch.update(full_epochs, "full")
        return arm(len(arrays.x_train), [whole], arrays.y_test, labels)

    def random() -> Scores:
        draws = []
        for draw in range(settings.draws):
            draws.append(small(*random_set(arrays, recipe, draw)))
            watch.update(full_epochs + draw + 1, "random")
        return arm(initial.budget(arrays.y_train, recipe.per_class), draws, arrays.y_test, labels)

    arms = {
        "full": share.json("full", key, full),
        "random": share.json("random", {**key, "per_class": recipe.per_class}, random),
    }
    for number, (name, (x, y)) in enumerate(condensed.items()):
        fit = large if len(x) > len(arrays.x_train) // 2 else small
        arms[name] = arm(len(x), [fit(x, y)], arrays.y_test, labels)
        watch.update(full_epochs + settings.draws + number + 1, name)
    return arms


def trials(
    model: Model, arrays: Arrays, recipe: Recipe
) -> tuple[Callable[..., Measured], Callable[[np.ndarray, np.ndarray], Measured]]:
    """Return how fresh networks are trained on a large and on a small set (x, y) and tested: {metric: values}."""
    settings, key = recipe.evaluate, stream(recipe.seed, "evaluate")
    stopped = settings.model_copy(update={"epochs": settings.full_epochs})
    theta = train.fresh(model, key, settings.initialisations)
    rest = utility.left_out(arrays.y_test, GROUPS)
    test = jnp.asarray(arrays.x_test), jnp.asarray(arrays.y_test), jnp.asarray(rest)
    validation = jnp.asarray(arrays.x_validation), jnp.asarray(arrays.y_validation)

    def large(x: np.ndarray, y: np.ndarray, seen: Callable[[int], None] = lambda epoch: None) -> Measured:
        even, fits = np.full(y.shape[1], 0.5, np.float32), []
        for number, prior in enumerate(teach.PRIORS):
            task = teach.task(x, y, prior, even)

            def seen_of_all(epoch: int, before: int = number * stopped.epochs) -> None:
                seen(before + epoch)

            fits.append(utility.fit_full(model, theta, task, *validation, key, stopped, seen_of_all))
        fitted, _ = max(fits, key=lambda fit: float(fit[1].mean()))
        return utility.measure(model, fitted, jnp.asarray(x), *test)

    def small(x: np.ndarray, y: np.ndarray) -> Measured:
        pair = jnp.asarray(x), jnp.asarray(y)
        metrics, epochs = utility.measure_small(model, theta, *pair, key, settings, validation, test)
        return {**metrics, "epochs": int(epochs)}

    return large, small


def random_set(arrays: Arrays, recipe: Recipe, draw: int) -> Set:
    """Draw random real patients, as many of each class as the condensed set has."""
    rng = np.random.default_rng([recipe.seed, draw])
    subset = initial.draw(arrays.x_train, arrays.y_train, recipe.per_class, "real", rng)
    return subset.x, subset.y


def arm(rows: int, measured: list[dict[str, Any]], y_test: np.ndarray, labels: Sequence[str]) -> Scores:
    """Return the scores of an arm from metrics [networks, labels]: over all labels that count, and label by label."""
    result: Scores = {"rows": rows}
    if len(measured) == 1 and "epochs" in measured[0]:
        result["epochs"] = measured[0]["epochs"]
    by_label: Scores = {name: {} for name in labels}
    counts = np.asarray(counted(y_test))
    for metric in METRICS:
        values = np.concatenate([np.asarray(part[metric], np.float64) for part in measured])
        whole = values[:, counts].mean(axis=1)
        result[metric] = _spread(whole) | {"values": whole.tolist()}
        for index, name in enumerate(labels):
            by_label[name][metric] = _spread(values[:, index])
    if all("without" in part for part in measured):
        each = np.concatenate([np.asarray(part["without"], np.float64) for part in measured])
        without = each[..., counts].mean(axis=(0, 2))
        if np.isfinite(without).all():  # else one group has all positives
            result["auprc"]["without"] = without.tolist()
    return result | ({"labels": by_label} if len(labels) > 1 else {})


def _spread(values: np.ndarray) -> dict[str, float]:
    return {"mean": float(values.mean()), "std": float(values.std(ddof=1)) if len(values) > 1 else 0.0}

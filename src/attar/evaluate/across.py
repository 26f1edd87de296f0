"""What a condensed set is worth to other models than the one it was made with; a new one is a row in `LEARNERS`.

Every model is trained on all real patients, on random ones and on the condensed table, and tested on real patients.
Networks are rows of `models.MODELS`; those for tables see the hours of series side by side. The others are scikit-learn
style classifiers, one for each label, on the same prepared inputs; of series, on a summary of each input over time.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import jax.numpy as jnp
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from attar import initial
from attar.errors import RecipeError, nearest
from attar.evaluate.arms import Measured, Scores, Set, arm, random_set, trials
from attar.evaluate.metrics import METRICS, per_label
from attar.models import MODELS, Model
from attar.models.layout import Layout
from attar.prepare import Arrays
from attar.progress import Watch
from attar.recipe import Recipe

REPEATS = 3
"""Fits of a classifier that depends on chance, and random subsets that it is trained on."""

Fit = Callable[[np.ndarray, np.ndarray], Measured]


def _xgboost(seed: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=200, max_depth=4, learning_rate=0.05, random_state=seed, n_jobs=0, verbosity=0)


def _lightgbm(seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=200, num_leaves=15, learning_rate=0.05, random_state=seed, verbose=-1)


LEARNERS: dict[str, Callable[[int], Any]] = {
    "logistic": lambda seed: LogisticRegression(max_iter=2000),
    "random-forest": lambda seed: RandomForestClassifier(300, min_samples_leaf=3, random_state=seed, n_jobs=-1),
    "xgboost": _xgboost,
    "lightgbm": _lightgbm,
}


def check(names: Iterable[str]) -> None:
    """Raise RecipeError for a model that does not exist or is not installed."""
    known = [*MODELS, *LEARNERS]
    for name in names:
        if name not in known:
            raise RecipeError(f"There is no model {name!r}.{nearest(name, known)}")
        if name in ("xgboost", "lightgbm") and find_spec(name) is None:
            raise RecipeError(f"The model {name!r} needs a package that is not installed: pip install 'attar[trees]'.")


def score_models(
    names: Sequence[str],
    build: Callable[[str], Model],
    data: Arrays,
    sets: Mapping[str, Set],
    labels: Sequence[str],
    recipe: Recipe,
    watch: Watch,
) -> dict[str, dict[str, Scores]]:
    """Return {model: {arm: scores}} for the arms full, random and the condensed `sets`; `build` makes the networks."""
    arms = 2 + len(sets)
    watch.stage("models", arms * len(names))
    counts = {"full": len(data.x_train), "random": initial.budget(data.y_train, recipe.per_class)}
    counts |= {key: len(x) for key, (x, _) in sets.items()}
    results: dict[str, dict[str, Scores]] = {}
    for number, name in enumerate(names):
        large, small = _network(name, build, data, recipe) if name in MODELS else _classifier(name, data)
        draws = recipe.evaluate.draws if name in MODELS else REPEATS
        measured = {"full": [large(data.x_train, data.y_train)]}
        watch.update(arms * number + 1, f"{name}, full")
        measured["random"] = [small(*random_set(data, recipe, draw)) for draw in range(draws)]
        watch.update(arms * number + 2, f"{name}, random")
        for key, pair in sets.items():
            measured[key] = [small(*pair)]
            watch.update(arms * number + len(measured), f"{name}, {key}")
        results[name] = {key: arm(counts[key], parts, data.y_test, labels) for key, parts in measured.items()}
    return results


def summaries(layout: Layout, x: np.ndarray) -> np.ndarray:
    """Return rows with each input's hours as their least, mean, greatest, last and slope; a table's as they are."""
    hours, channels, _ = layout
    if not hours:
        return x
    series = x[:, : hours * channels].reshape(len(x), hours, channels)
    time = np.arange(hours) - (hours - 1) / 2
    slope = np.einsum("h,rhc->rc", time / max((time**2).sum(), 1.0), series)
    parts = [series.min(axis=1), series.mean(axis=1), series.max(axis=1), series[:, -1], slope]
    return np.concatenate([*parts, x[:, hours * channels :]], axis=1).astype(np.float32)


def _network(
    name: str, build: Callable[[str], Model], data: Arrays, recipe: Recipe
) -> tuple[Callable[..., Measured], Fit]:
    own = recipe.evaluate.model_copy(update=dict(MODELS[name].training))
    return trials(build(name), data, recipe.model_copy(update={"evaluate": own}))


def _classifier(name: str, data: Arrays) -> tuple[Fit, Fit]:
    seen = partial(summaries, data.preparation.layout)

    def fit(x: np.ndarray, y: np.ndarray) -> Measured:
        repeats = 1 if name == "logistic" else REPEATS
        scores = [
            _probabilities(LEARNERS[name], seed, seen(x), np.rint(y), seen(data.x_test)) for seed in range(repeats)
        ]
        return {
            metric: np.stack([per_label(function, jnp.asarray(score), jnp.asarray(data.y_test)) for score in scores])
            for metric, function in METRICS.items()
        }

    return fit, fit


def _probabilities(make: Callable[[int], Any], seed: int, x: np.ndarray, y: np.ndarray, test: np.ndarray) -> np.ndarray:
    def risk(labels: np.ndarray) -> np.ndarray:
        one_class = labels.min() == labels.max()
        return np.full(len(test), labels[0]) if one_class else make(seed).fit(x, labels).predict_proba(test)[:, 1]

    columns = [risk(labels) for labels in y.T]
    return np.stack(columns, axis=1).astype(np.float32)

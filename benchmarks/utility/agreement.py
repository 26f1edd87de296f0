"""How much of what its teachers know a condensed set carries, measured with less chance than AUPRC on test labels.

    uv run benchmarks/utility/agreement.py DATA OUT [--cohorts covid wide] [--seeds 10 11] [--per-class 50]
        [--set method=mtt]

Each teacher, networks trained on the condensed arrays, and a logistic regression on all training patients are compared
with the mean logit of all teachers on validation and test patients: by the correlation of logits, both classes
weighing the same, and by the AUPRC expected if every patient had the outcome with the teachers' probability, as a share
of the teachers' own. Beyond the weights, no label of those patients is looked at. DATA is that of
benchmarks/cohorts.py; OUT keeps the run folders.
"""

import argparse
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from runs import COHORTS, folder, run
from sklearn.linear_model import LogisticRegression

from attar import Cohort, train
from attar.evaluate import utility
from attar.recipe import parse_overrides
from attar.run import begin, load
from attar.seeds import stream
from attar.storage import Vault
from attar.store import Run

NETWORKS = 8


def correlation(one: np.ndarray, other: np.ndarray, weights: np.ndarray) -> float:
    """Return the weighted correlation of two rankings of the same patients [rows]."""
    one, other = one - np.average(one, weights=weights), other - np.average(other, weights=weights)
    spread = np.average(one**2, weights=weights) * np.average(other**2, weights=weights)
    return float(np.average(one * other, weights=weights) / np.sqrt(spread))


def expected_auprc(logits: np.ndarray, chances: np.ndarray) -> float:
    """Return the average precision of a ranking if patients [rows] had the outcome with these chances."""
    ranked = chances[np.argsort(-logits, kind="stable")]
    return float((ranked * ranked.cumsum() / np.arange(1, len(ranked) + 1)).sum() / ranked.sum())


def measure(cohort: Cohort, out: Path, name: str, seed: int, settings: dict[str, Any]) -> list[str]:
    """Return the cells of one run: its share of full, then both figures of those compared with the teachers."""
    arms = run(cohort, out, name, seed, settings)
    place = folder(cohort, out, name, seed, settings)
    stored, tiny = Run(place), load(place)
    recipe = stored.settled()
    begun = begin(cohort, recipe)
    model, data = begun.model, begun.data
    if data.y_train.shape[1] > 1:
        raise SystemExit(f"{name} has several labels; agreement is measured for one.")
    x = jnp.asarray(np.concatenate([data.x_validation, data.x_test]))
    y = np.concatenate([data.y_validation, data.y_test])[:, 0]
    weights = np.where(y == 1, 0.5 / y.sum(), 0.5 / (len(y) - y.sum()))

    def logits(theta: jax.Array | np.ndarray) -> np.ndarray:
        return np.asarray(jax.vmap(lambda one: model.apply(one, x))(jnp.asarray(theta))[..., 0], np.float64)

    each = logits(Vault(model, recipe).unpack_teachers(stored.read_arrays("teachers.safetensors"))[:, -1])
    teachers = each.mean(axis=0)
    chances = 1 / (1 + np.exp(-teachers - float(begun.task(recipe).offset[0])))
    key = stream(seed, "agreement")
    epochs = arms["condensed"]["epochs"]
    fits = utility.fit_lengths(
        model,
        train.fresh(model, key, NETWORKS),
        jnp.asarray(tiny.x),
        jnp.asarray(tiny.y),
        key,
        recipe.evaluate,
        (epochs,),
    )[0]
    regression = LogisticRegression(max_iter=500, class_weight="balanced").fit(data.x_train, data.y_train[:, 0])
    best = expected_auprc(teachers, chances)
    cells = [f"{arms['condensed']['auprc']['mean'] / arms['full']['auprc']['mean']:.3f}"]
    for rankings in (each, logits(fits), regression.decision_function(np.asarray(x))[None]):
        agreed = np.mean([correlation(one, teachers, weights) for one in rankings])
        expected = np.mean([expected_auprc(one, chances) for one in rankings]) / best
        cells.append(f"{agreed:.3f}, {expected:.3f}")
    return cells


def main() -> None:
    """Print a row for every cohort and seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--cohorts", nargs="+", default=["covid", "wide", "support2"], choices=list(COHORTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[10])
    parser.add_argument("--per-class", type=int, default=50)
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", dest="settings")
    words = parser.parse_args()
    settings = {"per_class": words.per_class, **parse_overrides(words.settings)}
    print("| cohort, seed | share of full | each teacher | networks on the set | regression on all patients |")
    print("|---|---|---|---|---|")
    for name in words.cohorts:
        cohort = COHORTS[name](words.data)
        for seed in words.seeds:
            cells = measure(cohort, words.out, name, seed, settings)
            print(f"| {name}, {seed} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

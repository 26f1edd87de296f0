"""What all real patients would be worth if their networks had weight decay, too, as those of small sets have.

    uv run benchmarks/utility/full.py DATA [--cohorts support2 covid sepsis stroke] [--seeds 0 1 2]

Prints the test AUPRC of *full* as attar has it, and how many times as much it is if weight decay, too, is chosen on
validation, as the prior is. DATA is that of benchmarks/cohorts.py.
"""

import argparse
from itertools import product
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from runs import COHORTS

from attar import teach, train
from attar.evaluate.metrics import macro
from attar.evaluate.utility import measure, patience
from attar.models import Model
from attar.recipe import Evaluate, load
from attar.run import begin
from attar.seeds import stream

DECAYS = (0.0, 1e-3, 3e-3)

Rows = tuple[jax.Array, jax.Array]


def score(model: Model, theta: jax.Array, rows: Rows) -> jax.Array:
    """Return the AUPRC of networks [networks, p] on real patients, mean over labels."""
    return macro(measure(model, theta, rows[0], *rows)["auprc"], rows[1])


def fit(
    model: Model, theta: jax.Array, task: train.Task, validation: Rows, key: jax.Array, settings: Evaluate, decay: float
) -> tuple[float, jax.Array]:
    """Train networks as `utility.fit_full` does, with weight decay; return their mean validation score, and them."""
    now, best, best_score, last = train.begin(theta), theta, jnp.full(len(theta), -1.0), 0
    stride = train.stride(settings.step_size, task.y)
    for epoch in range(settings.full_epochs):
        step_key = jax.random.fold_in(key, epoch)
        now = train.epoch(model, now, task, step_key, stride, settings.momentum, settings.batch, weight_decay=decay)
        reached = score(model, now.theta, validation)
        better = reached > best_score
        best, best_score = jnp.where(better[:, None], now.theta, best), jnp.maximum(reached, best_score)
        last = epoch if better.any() else last
        if epoch - last == patience(settings.full_epochs):
            break
    return float(best_score.mean()), best


def main() -> None:
    """Print a row per cohort and seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument(
        "--cohorts", nargs="+", default=["support2", "covid", "sepsis", "stroke"], choices=list(COHORTS)
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    words = parser.parse_args()
    print("| cohort | seed | full | weight decay chosen | times as much |")
    print("|---|---|---|---|---|")
    for name, seed in product(words.cohorts, words.seeds):
        cohort = COHORTS[name](words.data)
        recipe = load(cohort.recipe, {"seed": seed})
        _, data, model, _ = begin(cohort, recipe)
        settings, key = recipe.evaluate, stream(seed, "evaluate")
        theta, even = train.fresh(model, key, settings.initialisations), np.full(data.y_train.shape[1], 0.5, np.float32)
        validation = jnp.asarray(data.x_validation), jnp.asarray(data.y_validation)
        fits = {}
        for decay, prior in product(DECAYS, teach.PRIORS):
            task = teach.task(data.x_train, data.y_train, prior, even)
            fits[decay, prior] = fit(model, theta, task, validation, key, settings, train.shrinkage(decay, task.y))
        plain = max(((0.0, prior) for prior in teach.PRIORS), key=lambda which: fits[which][0])
        chosen = max(fits, key=lambda which: fits[which][0])
        test = jnp.asarray(data.x_test), jnp.asarray(data.y_test)
        full, other = (float(score(model, fits[which][1], test).mean()) for which in (plain, chosen))
        print(f"| {name} | {seed} | {full:.3f} | {chosen[0]:g} | {other / full:.3f} |", flush=True)


if __name__ == "__main__":
    main()

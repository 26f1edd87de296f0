"""How broad the supervision is as the outcome gets rarer: the paper's spectra on open data; prints a Markdown table.

    uv run benchmarks/prevalence.py DATA [--teachers 50] [--seeds 0 1 2]

DATA holds the folder covid_carbonhealth. Beside the whole cohort, subsamples of one size whose positives are 5, 2 and 1
in a hundred, so that only prevalence differs. A cell is the effective rank (entropy) of the displacements of segments
of the teachers' trainings (SGD), of their convexified paths and of Bezier curves between the same ends, all over the
same times, and in brackets how many directions hold 95 % of the energy.
"""

import argparse
from pathlib import Path

import numpy as np

from attar import Cohort, initial, teach
from attar.geometry import breadth
from attar.paths import PATHS
from attar.prepare import prepare
from attar.recipe import Recipe, load
from attar.run import build_model
from cohorts import COHORTS

PREVALENCES = (0.05, 0.02, 0.01)
KINDS = {"checkpoints": "SGD", "convexified": "convexified", "bezier": "Bezier"}


def main() -> None:
    """Print a row for each prior and prevalence."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--teachers", type=int, default=50)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    words = parser.parse_args()
    whole = COHORTS["covid"](words.data)
    print(f"| teachers' prior | cohort | {' | '.join(KINDS.values())} |")
    print("|---" * (2 + len(KINDS)) + "|")
    for prior in ("none", "aligned"):
        for prevalence in (None, *PREVALENCES):
            ranks = []
            for seed in words.seeds:
                cohort = whole if prevalence is None else subsample(whole, prevalence, seed)
                settings = {"teachers.prior": prior, "teachers.count": words.teachers, "seed": seed}
                ranks.append(measure(cohort, load("default", settings)))
            name = f"{whole.rows:,} rows, {whole.prevalence[0]:.1%}"
            if prevalence is not None:
                name = f"{cohort.rows:,} rows, {prevalence:.0%}"
            cells = [f"{mean[0]:.1f} ({mean[1]:.0f})" for mean in np.mean(ranks, axis=0)]
            print(f"| {prior} | {name} | {' | '.join(cells)} |", flush=True)


def subsample(cohort: Cohort, prevalence: float, seed: int) -> Cohort:
    """Draw patients so that this share is positive: as many as the highest prevalence allows, for all alike."""
    rng = np.random.default_rng(seed)
    labels = cohort.labels[:, 0]
    rows = int(labels.sum() / max(PREVALENCES))
    positives = rng.choice(np.flatnonzero(labels == 1), round(prevalence * rows), replace=False)
    negatives = rng.choice(np.flatnonzero(labels == 0), rows - len(positives), replace=False)
    chosen = np.sort(np.concatenate([positives, negatives]))
    target = cohort.schema.targets[0].name
    frame = cohort.frame.iloc[chosen].assign(**{target: labels[chosen].astype(np.int64)})
    return Cohort.of(frame, target, name=f"{cohort.name}-{prevalence:.0%}")


def measure(cohort: Cohort, recipe: Recipe) -> list[tuple[float, float]]:
    """Return the effective ranks by entropy and by energy for each kind of path."""
    data = prepare(cohort, cohort.split(recipe.seed), recipe.prepare.clip, recipe.prepare.indicators)
    model = build_model(recipe, data)
    start = initial.draw(data.x_train, data.y_train, recipe.per_class, "real", np.random.default_rng(recipe.seed))
    task = teach.task(data.x_train, data.y_train, recipe.teachers.prior, start.y.mean(axis=0))
    teachers = teach.teach(model, task, recipe.teachers, recipe.seed, every_epoch=True)
    when = breadth.times(model, recipe.teachers.count, recipe)
    moves = breadth.moves_of_trainings(model, teachers.points, task, recipe, when)
    curves = PATHS["bezier"].draw(model, teachers, task, recipe, lambda step: None)
    moves["bezier"] = breadth.moves_of(curves, when)
    found = breadth.describe(moves)
    return [(found[kind]["rank_by_entropy"], found[kind]["rank_by_energy"]) for kind in KINDS]


if __name__ == "__main__":
    main()

"""Other models trained on the condensed sets of several runs on one cohort, beside all real and random patients.

    python benchmarks/across.py COHORT RUN [RUN ...] [--models tcn,lstm-1,...] [--set evaluate.initialisations=2]

The runs share cohort, seed and recipe, and differ in their method. Prints a Markdown table of test AUPRC.
"""

import argparse
from functools import partial
from pathlib import Path

from attar import export, recipe
from attar.cohort import Cohort
from attar.evaluate.across import check, score_models
from attar.progress import Lines
from attar.run import build_model, reprepare
from attar.store import Run


def main() -> None:
    """Score every model on every set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cohort")
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--models", default="mlp,mlp-1,mlp-2,mlp-3,mlp-4,logistic,random-forest,xgboost,lightgbm")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    models = options.models.split(",")
    check(models)
    cohort, runs = Cohort.read(options.cohort), [Run(folder) for folder in options.runs]
    first = runs[0].recipe()
    settings = recipe.load(first.model_dump(), recipe.parse_overrides(options.settings))
    data, targets = reprepare(cohort, runs[0]), cohort.schema.targets
    sets = {run.recipe().method: export.read(run, data.preparation, targets) for run in runs}
    names = [target.name for target in targets]
    found = score_models(models, partial(build_model, settings, data), data, sets, names, settings, Lines())
    arms = ["full", "random", *sets]
    print(f"| model | {' | '.join(arms)} |\n|{'---|' * (len(arms) + 1)}")
    for model, scores in found.items():
        full = scores["full"]["auprc"]["mean"]
        cells = [f"{scores[arm]['auprc']['mean']:.3f} ({scores[arm]['auprc']['mean'] / full:.3f})" for arm in arms]
        print(f"| {model} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()

"""What 50 condensed patients a class are worth on real cohorts, over seeds; prints a Markdown table.

    uv run benchmarks/utility.py DATA OUT [--seeds 0 1 2] [--set key=value ...]

DATA holds the folders covid_carbonhealth and physionet2019_sepsis_setB; support2 comes with attar. OUT keeps the run
folders, so that a second call continues and then only prints.
"""

import argparse
from pathlib import Path

import numpy as np

from attar.progress import Lines
from attar.recipe import load, parse_overrides
from attar.run import condense_cohort
from cohorts import COHORTS

ARMS = ("random", "condensed", "condensed_raw")


def main() -> None:
    """Run every cohort and seed, then print one row per cohort."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--cohorts", nargs="+", default=["support2", "covid", "sepsis"], choices=list(COHORTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--set", nargs="+", default=[], dest="settings")
    words = parser.parse_args()
    lines = ["| cohort | full AUPRC | random | condensed | condensed_raw | share of full per seed | export cost |"]
    lines.append("|---|---|---|---|---|---|---|")
    for name in words.cohorts:
        cohort, rows = COHORTS[name](words.data), []
        for seed in words.seeds:
            recipe = load("default", {"seed": seed, **parse_overrides(words.settings)})
            arms = condense_cohort(cohort, recipe, words.out / f"{name}-{seed}", Lines()).scores["arms"]
            rows.append([arms[arm]["auprc"]["mean"] for arm in ("full", *ARMS)])
        full, *others = np.array(rows).T
        shares = [f"{np.mean(values):.3f} ({np.mean(values / full):.3f})" for values in others]
        per_seed = ", ".join(f"{share:.3f}" for share in others[2] / full)
        cost = f"{np.mean(others[2] - others[1]):+.4f}"
        lines.append(f"| {name} | {full.mean():.3f} | {' | '.join(shares)} | {per_seed} | {cost} |")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

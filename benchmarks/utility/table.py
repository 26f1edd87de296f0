"""What condensed patients are worth on real cohorts with the default recipe, by cohort and number per class.

    uv run benchmarks/utility/table.py DATA OUT [--cohorts support2 ...] [--per-class 50 200 500] [--seeds 0 1 2 3 4]

DATA holds the folders covid_carbonhealth and physionet2019_sepsis_setB; support2 and nhanes come with attar. OUT keeps
the run folders, so that a second call continues and then only prints. Two calls with different cohorts or seeds may run
side by side.
"""

import argparse
from pathlib import Path

import numpy as np
from runs import COHORTS, run

from attar.recipe import parse_overrides


def main() -> None:
    """Run every cohort, number and seed, then print one row per cohort and number."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--cohorts", nargs="+", default=list(COHORTS), choices=list(COHORTS))
    parser.add_argument("--per-class", nargs="+", type=int, default=[50, 200, 500])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--set", nargs="+", default=[], dest="settings")
    words = parser.parse_args()
    print("| cohort | per class | full AUPRC | random (share) | condensed | share of full | by seed |")
    print("|---|---|---|---|---|---|---|")
    for name in words.cohorts:
        cohort = COHORTS[name](words.data)
        for per_class in words.per_class:
            settings = {"per_class": per_class, **parse_overrides(words.settings)}
            rows = [run(cohort, words.out, name, seed, settings) for seed in words.seeds]
            full, random, condensed = (
                np.array([row[arm]["auprc"]["mean"] for row in rows]) for arm in ("full", "random", "condensed")
            )
            share = condensed / full
            print(
                f"| {name} | {per_class} | {full.mean():.3f} | {np.mean(random / full):.3f} | {condensed.mean():.3f} | "
                f"{share.mean():.3f} ± {share.std(ddof=1) if len(share) > 1 else 0:.3f} | "
                f"{', '.join(f'{one:.3f}' for one in share)} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

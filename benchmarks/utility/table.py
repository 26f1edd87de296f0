"""What condensed patients are worth with the default recipe, by cohort and number per class, beside what was aimed at.

    uv run attar bench utility --size standard --cohorts support2,OUT/covid --seeds 0,1,2,3,4 --methods btm --out GRID
    uv run benchmarks/utility/table.py GRID [--method btm]

GRID holds the results.parquet of the benchmark, such as benchmarks/grid; cohorts from benchmarks/cohorts.py.
"""

import argparse
from pathlib import Path

import pandas as pd

GOALS = {
    "support2": {50: 0.99, 200: 1.0, 500: 1.0},
    "covid": {50: 0.98, 200: 1.0, 500: 1.0},
    "sepsis": {50: 1.0, 200: 1.0, 500: 1.0},
    "nhanes@label_stroke": {50: 0.97, 200: 1.0},
    "nhanes": {50: 0.95, 200: 0.98},
    "icu": {50: 0.93, 200: 0.97},
}


def main() -> None:
    """Print one row per cohort and number: the share of the full cohort's AUPRC, mean and deviation over seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("grid", type=Path)
    parser.add_argument("--method", default="btm")
    words = parser.parse_args()
    rows = pd.read_parquet(words.grid / "results.parquet")
    rows = rows[(rows["want"] == "scores") & (rows["measure"] == "auprc") & (rows["label"] == "")]
    rows = rows[rows["method"] == words.method].assign(cohort=rows["cohort"].map(lambda name: Path(name).name))
    print("| cohort | per class | full AUPRC | random (share) | condensed | share of full | by seed | goal |")
    print("|---|---|---|---|---|---|---|---|")
    for (cohort, per_class), part in rows.groupby(["cohort", "per_class"]):
        arms = part.drop_duplicates(["seed", "arm"]).pivot(index="seed", columns="arm", values="value")
        share, goal = arms["condensed"] / arms["full"], GOALS.get(cohort, {}).get(per_class)
        met = goal is not None and round(share.mean(), 3) >= goal
        mean = f"**{share.mean():.3f}**" if met else f"{share.mean():.3f}"
        print(
            f"| {cohort} | {per_class} | {arms['full'].mean():.3f} | {(arms['random'] / arms['full']).mean():.3f} | "
            f"{arms['condensed'].mean():.3f} | {mean} ± {share.std():.3f} | "
            f"{', '.join(f'{one:.3f}' for one in share)} | {'' if goal is None else f'{goal:.2f}'} |"
        )


if __name__ == "__main__":
    main()

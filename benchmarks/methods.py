"""Every method on real cohorts with the same teachers, iterations and evaluation; prints Markdown tables.

    uv run benchmarks/methods.py DATA OUT [--cohorts ...] [--per-class 50 200] [--seeds 0 1 2] [--methods ...]

DATA holds the folders covid_carbonhealth and physionet2019_sepsis_setB; the others come with attar. OUT keeps the
run folders, so that a second call continues and then only prints. Teachers and the scores of the whole cohort are
computed once for each cohort and seed.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from attar.methods import METHODS
from attar.progress import Lines
from attar.recipe import load, parse_overrides
from attar.run import condense_cohort
from cohorts import COHORTS


def main() -> None:
    """Run every cell of the grid, then print what is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--cohorts", nargs="+", default=list(COHORTS), choices=list(COHORTS))
    parser.add_argument("--per-class", nargs="+", type=int, default=[50, 200])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--methods", nargs="+", default=[name for name in METHODS if name != "full"])
    parser.add_argument("--set", nargs="+", default=[], dest="settings")
    words = parser.parse_args()
    for name in words.cohorts:
        cohort = COHORTS[name](words.data)
        for per_class in words.per_class:
            for method in words.methods:
                for seed in words.seeds:
                    own = {"method": method, "per_class": per_class, "seed": seed}
                    recipe = load("default", own | parse_overrides(words.settings))
                    folder = words.out / name / f"{method}-{per_class}-{seed}"
                    print(folder, flush=True)
                    condense_cohort(cohort, recipe, folder, Lines(), share=words.out / "share")
    for per_class in words.per_class:
        print(f"\n### {per_class} per class\n")
        print(table(words.out, words.cohorts, words.methods, per_class, words.seeds))


def table(out: Path, cohorts: list[str], methods: list[str], per_class: int, seeds: list[int]) -> str:
    """Return mean test AUPRC of the exported table (share of full); the best in bold, in italics what ties with it.

    A tie is a mean gap over the seeds of at most two of its standard errors.
    """
    cells: dict[str, list[str]] = {"full": [], "random x 10": [], **{method: [] for method in methods}}
    for cohort in cohorts:
        runs = {m: [arms(out / cohort / f"{m}-{per_class}-{seed}") for seed in seeds] for m in methods}
        full = mean(runs[methods[0]], "full")
        cells["full"].append(f"{full.mean():.3f}")
        shown = {"random x 10": mean(runs[methods[0]], "random")}
        shown |= {method: mean(runs[method], "condensed") for method in methods}
        best = max(shown.values(), key=np.mean)
        for method, values in shown.items():
            gaps = best - values
            tied = gaps.mean() <= 2 * gaps.std(ddof=1) / np.sqrt(len(gaps))
            mark = "**" if values is best else "*" if tied else ""
            cells[method].append(f"{mark}{values.mean():.3f}{mark} ({np.mean(values / full):.3f})")
    lines = [f"| method | {' | '.join(cohorts)} |", "|---" * (1 + len(cohorts)) + "|"]
    return "\n".join(lines + [f"| {name} | {' | '.join(row)} |" for name, row in cells.items()])


def arms(folder: Path) -> dict:
    """Return the scored arms of a run."""
    return json.loads((folder / "scores.json").read_text())["arms"]


def mean(runs: list[dict], arm: str) -> np.ndarray:
    """Return an arm's mean test AUPRC in each run."""
    return np.array([run[arm]["auprc"]["mean"] for run in runs])


if __name__ == "__main__":
    main()

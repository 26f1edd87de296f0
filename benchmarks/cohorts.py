"""The cohorts of the benchmarks: two that come with attar, two from a folder of downloaded data, one made up.

    uv run benchmarks/cohorts.py DATA OUT

writes the two of DATA as folders that `attar bench --cohorts` reads, OUT/covid and OUT/sepsis. DATA holds the folders
covid_carbonhealth and physionet2019_sepsis_setB.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from attar import Cohort
from attar.cohort.prepared import Prepared, save


def main() -> None:
    """Write the downloaded cohorts as prepared ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    words = parser.parse_args()
    for table in (covid(words.data), sepsis(words.data)):
        save(table, words.out / table.name)


def covid(data: Path) -> Prepared:
    """COVID-19 tests with repeated rows removed, numeric columns only."""
    table = pd.read_parquet(data / "covid_carbonhealth" / "data.parquet")
    numbers = table[table["duplicate_row"] == 0].select_dtypes("number").drop(columns="duplicate_row")
    return Prepared("covid", numbers, ("covid19_positive",))


def sepsis(data: Path) -> Prepared:
    """Sepsis after the first twelve hours in intensive care."""
    path = data / "physionet2019_sepsis_setB" / "tabular_first12h.parquet"
    return Prepared("sepsis", pd.read_parquet(path), ("sepsis",), id="patient_id")


def cohort(table: Prepared) -> Cohort:
    """Return a downloaded table as `attar` would read it from its folder."""
    return Cohort.of(table.patients, table.targets, id=table.id, name=table.name)


def wide(data: Path) -> Cohort:
    """Made-up patients in a regime of which no open cohort is at hand: 100,000 rows, 86 columns, 2.4 % positive.

    Columns share twelve causes; 30 are flags, 20 are skewed and often missing; the outcome depends on many columns, on
    some pairs of them and on some thresholds.
    """
    rng, rows, columns = np.random.default_rng(5), 100_000, 86
    loads = rng.standard_normal((12, columns)) * (rng.uniform(size=(12, columns)) < 0.3)
    x = rng.standard_normal((rows, 12)) @ loads + rng.standard_normal((rows, columns))
    x /= x.std(axis=0)
    score = x @ (0.35 * rng.standard_normal(columns) * (rng.uniform(size=columns) < 0.5))
    for _ in range(12):
        one, other = rng.choice(columns, 2, replace=False)
        score += 0.35 * rng.standard_normal() * x[:, one] * x[:, other]
    for column in rng.choice(columns, 10):
        score += 1.2 * rng.uniform() * np.maximum(x[:, column] - 1, 0)
    score *= 1.6 / score.std()
    chances = np.sort(score - np.log(1 / rng.uniform(size=rows) - 1))
    died = score - np.log(1 / rng.uniform(size=rows) - 1) > chances[int(0.976 * rows)]
    order = rng.permutation(columns)
    flags, skewed = order[:30], order[30:50]
    x[:, flags] = x[:, flags] > np.sort(x[:, flags], axis=0)[(rows * rng.uniform(0.5, 0.97, 30)).astype(int), range(30)]
    x[:, skewed] = np.exp(x[:, skewed])
    x[:, skewed] = np.where(rng.uniform(size=(rows, 20)) < 0.3, np.nan, x[:, skewed])
    frame = pd.DataFrame(x.astype(np.float32), columns=[f"x{column}" for column in range(columns)])
    return Cohort.of(frame.assign(died=died.astype(int)), "died", name="wide")


COHORTS: dict[str, Callable[[Path], Cohort]] = {
    "support2": lambda data: Cohort.read("support2"),
    "stroke": lambda data: Cohort.read("nhanes", target="label_stroke"),
    "nhanes": lambda data: Cohort.read("nhanes"),
    "covid": lambda data: cohort(covid(data)),
    "sepsis": lambda data: cohort(sepsis(data)),
    "wide": wide,
}

if __name__ == "__main__":
    main()

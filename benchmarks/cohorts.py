"""The cohorts of the benchmarks: two that come with attar, two from a folder of downloaded data, one made up."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from attar import Cohort


def covid(data: Path) -> Cohort:
    """COVID-19 tests with repeated rows removed, numeric columns only."""
    table = pd.read_parquet(data / "covid_carbonhealth" / "data.parquet")
    numbers = table[table["duplicate_row"] == 0].select_dtypes("number").drop(columns="duplicate_row")
    return Cohort.of(numbers, "covid19_positive", name="covid")


def sepsis(data: Path) -> Cohort:
    """Sepsis after the first twelve hours in intensive care."""
    path = data / "physionet2019_sepsis_setB" / "tabular_first12h.parquet"
    return Cohort.of(pd.read_parquet(path), "sepsis", id="patient_id", name="sepsis")


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
    "covid": covid,
    "sepsis": sepsis,
    "wide": wide,
}

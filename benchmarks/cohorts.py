"""The real cohorts that the benchmarks run on: two that come with attar, two from a folder of downloaded data."""

from collections.abc import Callable
from pathlib import Path

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


COHORTS: dict[str, Callable[[Path], Cohort]] = {
    "support2": lambda data: Cohort.read("support2"),
    "stroke": lambda data: Cohort.read("nhanes", target="label_stroke"),
    "covid": covid,
    "sepsis": sepsis,
}

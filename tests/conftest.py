"""Shared fixtures: small real data, small recipes, and where the shared cohorts are."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attar import recipe
from attar.cohort import Cohort

QUICK = {
    "per_class": 10,
    "teachers.count": 3,
    "teachers.epochs": 4,
    "path.steps": 20,
    "inputs.iterations": 60,
    "selection.initialisations": 2,
    "selection.epochs": 10,
    "evaluate.initialisations": 3,
    "evaluate.draws": 2,
    "evaluate.epochs": 10,
}


@pytest.fixture
def quick() -> dict:
    """Settings that make a whole run a matter of seconds."""
    return dict(QUICK)


@pytest.fixture(scope="session")
def small_frame() -> pd.DataFrame:
    """A thousand real patients of the embedded cohort."""
    from attar.cohort.builtin import CATALOGUE

    return CATALOGUE["support2"].frame().iloc[:1000]


@pytest.fixture(scope="session")
def small_cohort(small_frame: pd.DataFrame) -> Cohort:
    return Cohort.of(small_frame, "hospdead", name="small")


@pytest.fixture(scope="session")
def finished(small_cohort: Cohort, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one finished quick run."""
    from attar.run import condense_cohort

    folder = tmp_path_factory.mktemp("runs") / "finished"
    condense_cohort(small_cohort, recipe.load("default", QUICK), folder)
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)

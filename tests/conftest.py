"""Shared fixtures: small real data, small recipes; and one cache of compiled functions for all test processes."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from attar import recipe
from attar.cohort import Cohort

if TYPE_CHECKING:
    from setting import Setting

SHORT = {
    "student.match": "parameters",
    "student.moments": 1,
    "student.gradient": "first-order",
    "segments.length": 0.2,
    "inputs.step_size": 10.0,
    "inputs.per_row": False,
    "inputs.harden": 0.0,
    "inputs.decay": 0.0,
    "inputs.average": 0.0,
    "selection.keep": "best",
    "stay.iterations": 0,
}
"""Match as the paper does, which compiles in two thirds of the time."""

QUICK = SHORT | {
    "per_class": 10,
    "teachers.count": 3,
    "teachers.pilots": 0,
    "teachers.epochs": 4,
    "path.steps": 20,
    "inputs.iterations": 60,
    "selection.every": 10,
    "selection.initialisations": 2,
    "selection.epochs": 10,
    "evaluate.initialisations": 3,
    "evaluate.draws": 2,
    "evaluate.epochs": 10,
    "evaluate.tries": [1],
    "evaluate.full_epochs": 10,
}


COMPILED = "JAX_COMPILATION_CACHE_DIR"


def pytest_configure(config: pytest.Config) -> None:
    """Let workers and the commands they start compile each function once between them; that is most of the time."""
    if not hasattr(config, "workerinput") and COMPILED not in os.environ:
        os.environ[COMPILED] = config.attar_compiled = tempfile.mkdtemp(prefix="attar-compiled-")
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the cache."""
    if hasattr(config, "attar_compiled"):
        shutil.rmtree(config.attar_compiled, ignore_errors=True)


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
def setting(small_cohort: Cohort) -> "Setting":
    """What an outer loop works on."""
    from setting import Setting

    return Setting.of(small_cohort, QUICK)


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

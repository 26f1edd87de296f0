"""Condenser: the whole line behind a scikit-learn style estimator."""

import tempfile
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from attar import recipe as recipes
from attar.cohort import Cohort
from attar.condensed import Condensed
from attar.explain import explain
from attar.progress import Lines, Silent
from attar.run import condense_cohort


class Condenser(BaseEstimator):  # type: ignore[misc]
    """Condenses a cohort into `per_class` synthetic patients a class.

    Parameters
    ----------
    method: a row of `attar.methods.METHODS`; None is the recipe's, by default "btm".
    per_class: synthetic patients per class; None is the recipe's, by default 50.
    seed: the only source of randomness, the same seed gives the same patients; None is the recipe's, by default 0.
    recipe: name or file of a recipe, or a mapping of settings; None is "default", or "series" for hourly series.
    settings: single settings by dotted name, laid over the recipe, as {"teachers.count": 20}.
    out: run folder to keep and to resume from, with a report; None works in a temporary one.
    share: folder where runs on one cohort have teachers and the scores of all real patients in common.
    verbose: print progress.

    After `fit`, `condensed_` holds the synthetic patients and `scores_` what models trained on them reach.
    """

    def __init__(
        self,
        method: str | None = None,
        per_class: int | None = None,
        seed: int | None = None,
        recipe: str | Path | dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        out: str | Path | None = None,
        share: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        self.method = method
        self.per_class = per_class
        self.seed = seed
        self.recipe = recipe
        self.settings = settings
        self.out = out
        self.share = share
        self.verbose = verbose

    def fit(self, X: Cohort | pd.DataFrame | np.ndarray, y: Any = None) -> Self:  # noqa: N803
        """Condense a Cohort, or a DataFrame, feature matrix or series [patients, hours, channels] with outcomes `y`."""
        cohort = X if isinstance(X, Cohort) else Cohort.from_arrays(X, y)
        own = {"method": self.method, "per_class": self.per_class, "seed": self.seed}
        given = {key: value for key, value in own.items() if value is not None}
        resolved = recipes.load(
            cohort.recipe if self.recipe is None else self.recipe, {**given, **(self.settings or {})}
        )
        watch = Lines() if self.verbose else Silent()
        with tempfile.TemporaryDirectory(prefix="attar-") as scratch:
            folder = self.out or Path(scratch) / "run"
            self.condensed_: Condensed = condense_cohort(cohort, resolved, folder, watch, share=self.share)
            if self.out:
                explain(cohort, folder, watch)
        self.scores_ = self.condensed_.scores
        return self

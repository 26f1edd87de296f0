"""Condensed: the synthetic patients, as arrays and as tables."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from attar.cohort.schema import Target
from attar.export import as_tables
from attar.prepare import AnyPreparation


@dataclass(frozen=True, eq=False)
class Condensed:
    """Synthetic patients as optimised, x [rows, inputs] and y [rows, targets], and the way back to a table.

    `source` is the training row each patient started from (-1 for none), `step_size` the student's learned step size.
    """

    x: np.ndarray
    y: np.ndarray
    source: np.ndarray
    step_size: float
    preparation: AnyPreparation
    targets: tuple[Target, ...]
    scores: dict[str, Any]

    def frame(self) -> pd.DataFrame:
        """Return a table in the cohort's own columns, units and dtypes, the targets last.

        Of series it is the long table, a row for each patient, hour and channel; `patients` has the targets.
        """
        return self.tables()["condensed"]

    def patients(self) -> pd.DataFrame:
        """Return one row a patient: the whole table, or of series what does not change over time and the targets."""
        tables = self.tables()
        return tables.get("patients", tables["condensed"])

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables that a run folder holds, by name."""
        return as_tables(self.preparation, self.targets, self.x, self.y)

    def __repr__(self) -> str:
        return (
            f"Condensed({len(self.x)} patients, {len(self.preparation.features)} columns, {self.scores.get('method')})"
        )

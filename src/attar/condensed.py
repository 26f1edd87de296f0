"""Condensed: the synthetic patients, as arrays and as a table."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from attar.cohort.schema import Target
from attar.prepare import Preparation


@dataclass(frozen=True, eq=False)
class Condensed:
    """Synthetic patients as optimised, x [rows, inputs] and y [rows, targets], and the way back to a table.

    `source` is the training row each patient started from (-1 for none), `step_size` the student's learned step size.
    """

    x: np.ndarray
    y: np.ndarray
    source: np.ndarray
    step_size: float
    preparation: Preparation
    targets: tuple[Target, ...]
    scores: dict[str, Any]

    def frame(self) -> pd.DataFrame:
        """Return a table in the cohort's own columns, units and dtypes, the targets last."""
        return table(self.preparation, self.targets, self.x, self.y)

    def __repr__(self) -> str:
        return (
            f"Condensed({len(self.x)} patients, {len(self.preparation.features)} columns, {self.scores.get('method')})"
        )


def table(preparation: Preparation, targets: tuple[Target, ...], x: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    """Return arrays as a table in the cohort's own columns, units and dtypes, the targets last.

    Learned labels between 0 and 1 follow in a column of their own; the target itself has the nearer of its two values.
    """
    frame = preparation.inverse(x)
    hard = np.rint(y)
    for index, target in enumerate(targets):
        frame[target.name] = target.decode(hard[:, index])
    for index, target in enumerate(targets):
        if (hard[:, index] != y[:, index]).any():
            name = f"{target.name}_soft"
            while name in frame:
                name += "_"
            frame[name] = y[:, index].astype(np.float64)
    return frame


def arrays(preparation: Preparation, targets: tuple[Target, ...], frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of an exported table: what a receiver of the table trains on."""
    y = np.stack([(frame[target.name] == target.positive).to_numpy() for target in targets], axis=1)
    return preparation.transform(frame), y.astype(np.float32)

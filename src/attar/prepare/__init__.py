"""From a cohort to float arrays and back, fitted on the training split: `table` for columns, `series` for hours."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attar.cohort.split import Split
from attar.cohort.table import Cohort
from attar.prepare.series import SeriesPreparation, Stays, fit_series
from attar.prepare.table import Preparation, fit, unknown

__all__ = ["AnyPreparation", "Arrays", "Preparation", "SeriesPreparation", "Stays", "fit", "prepare", "unknown"]

AnyPreparation = Preparation | SeriesPreparation


@dataclass(frozen=True, eq=False)
class Arrays:
    """A prepared cohort: x [rows, width] and y [rows, targets] as float32, per side of the split."""

    x_train: NDArray[np.float32]
    y_train: NDArray[np.float32]
    x_validation: NDArray[np.float32]
    y_validation: NDArray[np.float32]
    x_test: NDArray[np.float32]
    y_test: NDArray[np.float32]
    preparation: AnyPreparation


def prepare(cohort: Cohort, split: Split, clip: float = 5.0, indicators: bool = False) -> Arrays:
    """Fit on the training side and transform all three."""
    frame, content = cohort.frame.iloc[split.train], cohort.frame
    preparation: Any
    if cohort.series is None:
        preparation = fit(frame, cohort.schema, clip, indicators)
    else:
        preparation = fit_series(cohort.series.take(split.train), frame, cohort.schema, clip, indicators)
        content = Stays(cohort.series.values, cohort.frame)
    x = preparation.transform(content)
    y = cohort.labels.astype(np.float32)
    return Arrays(
        x_train=x[split.train],
        y_train=y[split.train],
        x_validation=x[split.validation],
        y_validation=y[split.validation],
        x_test=x[split.test],
        y_test=y[split.test],
        preparation=preparation,
    )

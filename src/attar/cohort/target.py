"""Turn an outcome column of any two values into 0 and 1, and say which value became 1."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attar.cohort.schema import Scalar, Target, distinct, is_number, recognised_positive
from attar.errors import DataError

_MOST_SHOWN = 10


def encode(series: pd.Series, positive: Scalar | None = None) -> tuple[NDArray[np.int8], Target, tuple[str, ...]]:
    """Return labels, the Target and warnings; the series has no missing value and a plain dtype."""
    name = str(series.name)
    values = distinct(series)
    if len(values) != 2:
        raise DataError(_not_two(name, values, is_number(series)))
    warnings: tuple[str, ...] = ()
    if positive is not None:
        high = _find(name, values, positive)
    else:
        found = recognised_positive(values)
        high = _rarer(series, values) if found is None else found
        if found is None or not _plain(values):
            why = "the rarer of the two" if found is None else "the larger number"
            warnings = (
                f"Target {name!r} has the values {values[0]!r} and {values[1]!r}: {high!r} ({why}) was taken as the "
                "positive class. Say positive= (--positive) if it is the other one.",
            )
    low = values[0] if high == values[1] else values[1]
    labels = (series == high).to_numpy(dtype=np.int8)
    return labels, Target(name=name, negative=low, positive=high, dtype=str(series.dtype)), warnings


def _plain(values: list[Scalar]) -> bool:
    """Whether no reader could doubt the recognised value: 0/1, -1/1, False/True and every pair of words."""
    try:
        pair = {float(value) for value in values}
    except ValueError:
        return True
    return pair in ({0.0, 1.0}, {-1.0, 1.0})


def _rarer(series: pd.Series, values: list[Scalar]) -> Scalar:
    first = int((series == values[0]).sum())
    return values[0] if first < len(series) - first else values[1]


def _find(name: str, values: list[Scalar], positive: Scalar) -> Scalar:
    for value in values:
        if value == positive or str(value) == str(positive) or _same_number(value, positive):
            return value
    raise DataError(
        f"Target {name!r} has no value {positive!r}: it holds {values[0]!r} and {values[1]!r}. "
        "Give one of these as positive= (--positive)."
    )


def _same_number(value: Scalar, positive: Scalar) -> bool:
    try:
        return float(value) == float(positive)
    except ValueError:
        return False


def _not_two(name: str, values: list[Scalar], number: bool) -> str:
    if not values:
        return f"Target {name!r} has no value in any row. Choose another target column."
    if len(values) == 1:
        return (
            f"Target {name!r} has only one value, {values[0]!r}, in all rows; a target needs two classes. "
            "Choose another column, or a table that holds both outcomes."
        )
    # More are names, numbers or dates of patients rather than classes.
    shown = f" ({', '.join(map(repr, values))})" if len(values) <= _MOST_SHOWN else ""
    remedy = "Make a yes/no column of it, for example by a threshold" if number else "Make a yes/no column of it"
    return f"Target {name!r} has {len(values)} values{shown}; a target has exactly two. {remedy}, and use that."

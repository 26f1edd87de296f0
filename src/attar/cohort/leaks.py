"""Warn of columns that know too much: the outcome in disguise, or the patient's number."""

import shlex

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attar.cohort.checks import leave_out, numbers_patients
from attar.cohort.schema import Schema, is_number, numbers

_SUSPICIOUS = 0.98
_FEWEST_ROWS = 50
_FEWEST_OF_A_CLASS = 10


def leaks(frame: pd.DataFrame, schema: Schema, labels: NDArray[np.int8]) -> tuple[str, ...]:
    """Return a warning per feature that alone tells a target apart, by value or by absence, or looks like an id."""
    found: list[str] = []
    for column in schema.columns:
        series = frame[column.name]
        if numbers_patients(series, column):
            found.append(
                f"Column {column.name!r} differs in every row, like a patient's number: name it with --id "
                f"{shlex.quote(column.name)} (id=), or {leave_out(column.name)}."
            )
        missing = series.isna().to_numpy()
        codes, ordered = _codes(series, missing)
        for index, target in enumerate(schema.targets):
            by_value = _auroc(codes, labels[~missing, index], ordered)
            if by_value > _SUSPICIOUS:
                found.append(_warning(f"Column {column.name!r}", column.name, target.name, by_value))
            by_absence = _auroc(missing.astype(np.int64), labels[:, index], ordered=False)
            if by_absence > _SUSPICIOUS:
                what = f"Whether column {column.name!r} is missing"
                found.append(_warning(what, column.name, target.name, by_absence))
    return tuple(found)


def _warning(what: str, name: str, target: str, auroc: float) -> str:
    return (
        f"{what} alone tells the target {target!r} apart (AUROC {auroc:.3f}): it may have been recorded after the "
        f"outcome. Unless it is known when a prediction is made, {leave_out(name)}."
    )


def _codes(series: pd.Series, missing: NDArray[np.bool_]) -> tuple[NDArray[np.int64], bool]:
    """Return group numbers of the present values, and whether their order means anything."""
    if not is_number(series):
        return pd.factorize(series[~missing])[0], False
    found = numbers(series)[~missing]
    order = np.argsort(found)
    steps = np.r_[0, np.cumsum(np.diff(found[order]) > 0)] if len(found) else np.empty(0, dtype=np.int64)
    codes = np.empty(len(found), dtype=np.int64)
    codes[order] = steps
    return codes, True


def _auroc(codes: NDArray[np.int64], labels: NDArray[np.int8], ordered: bool) -> float:
    """AUROC of the better direction with ties counted half; unordered groups are ranked by their share of positives."""
    total = np.bincount(codes)
    positive = np.bincount(codes, weights=labels)
    positives = positive.sum()
    negatives = len(labels) - positives
    if len(labels) < _FEWEST_ROWS or min(positives, negatives) < _FEWEST_OF_A_CLASS:
        return 0.5
    if not ordered:
        rank = np.argsort(positive / np.maximum(total, 1), kind="stable")
        total, positive = total[rank], positive[rank]
    negative = total - positive
    below = np.cumsum(negative) - negative
    auroc = float((positive * (below + negative / 2)).sum() / (positives * negatives))
    return max(auroc, 1 - auroc)

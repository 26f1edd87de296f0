"""From a raw table to labels, patients and features: what is kept, what is refused, what is said about it."""

import shlex
from collections.abc import Container, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attar.cohort import checks
from attar.cohort.schema import Column, Scalar, Target, infer
from attar.cohort.target import encode
from attar.errors import DataError, nearest

FEWEST_ROWS = 100
FEWEST_OF_A_CLASS = 10


def refuse_doubles(columns: pd.Index) -> None:
    """Raise DataError if two columns share a name."""
    if not columns.is_unique:
        twice = ", ".join(repr(name) for name in columns[columns.duplicated()].unique()[:5])
        raise DataError(f"The table has more than one column named {twice}. Rename or remove the doubles.")


def with_outcome(
    table: pd.DataFrame, targets: tuple[str, ...]
) -> tuple[pd.DataFrame, NDArray[np.int64], tuple[str, ...]]:
    """Return the rows that record every target, their numbers, and a warning if some do not."""
    unknown = table[list(targets)].isna().any(axis=1).to_numpy()
    rows = np.flatnonzero(~unknown)
    kept = table.iloc[rows].reset_index(drop=True)
    if len(kept) < FEWEST_ROWS:
        raise DataError(
            f"The table has {len(kept)} rows with an outcome; at least {FEWEST_ROWS} are needed to train, choose and "
            "test. Give a larger table."
        )
    if len(kept) == len(table):
        return kept, rows, ()
    return kept, rows, (f"{unknown.sum()} of {len(table)} rows lack a value of the target and were left out.",)


def outcomes(
    table: pd.DataFrame, names: tuple[str, ...], positive: Scalar | Mapping[str, Scalar] | None
) -> tuple[NDArray[np.int8], tuple[Target, ...], tuple[str, ...]]:
    """Return labels [rows, targets], the targets, and a warning where the positive class is a guess."""
    values: Mapping[str, Any] = positive if isinstance(positive, Mapping) else dict.fromkeys(names, positive)
    for name in values:
        if name not in names:
            raise DataError(f"positive= names {name!r}, which is not a target.{nearest(name, names)}")
    labels, targets = [], []
    said: list[str] = []
    for name in names:
        series = _outcome(table[name])
        label, target, warnings = encode(series, values.get(name))
        labels.append(label)
        targets.append(target)
        said += warnings
    return np.stack(labels, axis=1), tuple(targets), tuple(said)


def _outcome(series: pd.Series) -> pd.Series:
    try:
        plain = checks.plain(series)
    except DataError as error:
        raise DataError(
            f"Target {series.name!r} is not a column of numbers, of text or of yes and no. A target has exactly two "
            "values, such as 0 and 1: make such a column of it."
        ) from error
    checks.refuse_infinite(plain)
    return plain


def patients(series: pd.Series) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return patient numbers 0, 1, ... per row, and a warning of rows without an id."""
    codes: NDArray[np.int64] = pd.factorize(series)[0].astype(np.int64)
    unknown = codes == -1
    if not unknown.any():
        return codes, ()
    codes[unknown] = codes.max() + 1 + np.arange(unknown.sum())
    return codes, (f"{unknown.sum()} rows have no {series.name!r}; each was taken as a patient of its own.",)


def refuse_few(labels: NDArray[np.int8], targets: tuple[Target, ...], ids: NDArray[np.int64] | None) -> None:
    """Raise DataError if a class of a target has too few patients to be split."""
    for column, target in zip(labels.T, targets, strict=True):
        for label, value in enumerate((target.negative, target.positive)):
            rows = np.flatnonzero(column == label)
            patients = len(rows) if ids is None else len(np.unique(ids[rows]))
            if patients < FEWEST_OF_A_CLASS:
                raise DataError(
                    f"Target {target.name!r} has {patients} patients with {value!r}; each class needs at least "
                    f"{FEWEST_OF_A_CLASS}. Give a larger table or another target."
                )


def features(
    table: pd.DataFrame, names: tuple[str, ...], kinds: dict[str, str], asked: Container[str], may_lack: bool = False
) -> tuple[pd.DataFrame, tuple[Column, ...], tuple[str, ...]]:
    """Return the usable feature columns, their description, and a warning for each left out.

    Those `asked` for by name measure something, even if they look as if they numbered the patients.
    """
    kept: dict[str, pd.Series] = {}
    columns: list[Column] = []
    said: list[str] = []
    refused: dict[str, str] = {}
    for name in names:
        try:
            series = checks.plain(table[name])
            useless = checks.constant(series)
            if not useless:
                column = _feature(series, kinds.get(name), len(table))
                useless = None if name in asked else checks.numbering(series, column)
        except DataError as error:
            refused[name] = str(error)
            continue
        if useless:
            said.append(useless)
            continue
        kept[name] = series
        columns.append(column)
    _refuse_all(refused)
    if not kept and not may_lack:
        raise DataError(
            "No feature column is left: every one is empty, has the same value in all rows or numbers the patients."
        )
    return pd.DataFrame(kept, index=table.index), tuple(columns), tuple(said)


def _feature(series: pd.Series, kind: str | None, rows: int) -> Column:
    """Return the description of a feature, or raise DataError if no model can use it as it is."""
    checks.refuse_infinite(series)
    if kind != "categorical":
        checks.refuse_text(series)
    column = infer(series, kind)
    checks.refuse_free_text(column, rows)
    return column


def _refuse_all(refused: Mapping[str, str]) -> None:
    """Raise one DataError for all columns that cannot be used, so that they can be mended in one go."""
    if len(refused) == 1:
        raise DataError(*refused.values())
    if refused:
        without = " ".join(f"--drop {shlex.quote(name)}" for name in refused)
        raise DataError(
            "\n- ".join([f"{len(refused)} columns cannot be used as they are:", *refused.values()])
            + f"\nTo leave all of them out: {without}"
        )

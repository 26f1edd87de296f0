"""Tables of outcomes: a row a patient, found by id however a file stores it."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attar.cohort import files
from attar.errors import DataError, nearest


class Labels(NamedTuple):
    """0/1 targets in the order of the stays asked for; `extra` are ids of rows that belong to none of them."""

    frame: pd.DataFrame
    extra: tuple[str, ...]
    notes: tuple[str, ...]


def keys(ids: pd.Series) -> pd.Index:
    """Return ids as text, None where missing; 12, 12.0, "12" and "012" are one patient."""
    codes, distinct = pd.factorize(ids)
    texts = np.array([*(_key(value) for value in distinct), None], dtype=object)
    return pd.Index(texts[codes], dtype=object)


def need(names: Iterable[str], columns: Iterable[str], path: Path) -> None:
    """Raise DataError if a file lacks one of the columns."""
    present = [str(column) for column in columns]
    for name in names:
        if name not in present:
            raise DataError(f"{path} has no column {name!r}.{nearest(name, present)}")


def read(path: Path, patient: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return a table with the keys of its patients as index, and what had to be assumed to read it."""
    frame, notes = files.read(path)
    need([patient], frame.columns, path)
    index = keys(frame[patient])
    missing, again = index.isna(), index.duplicated()
    if missing.any():
        raise DataError(f"{path}, row {missing.argmax() + 1}, has no {patient}. Fill it in or remove the row.")
    if again.any():
        row = int(again.argmax())
        first = int((index == index[row]).argmax())
        raise DataError(
            f"{path} has {again.sum()} rows too many: a patient has one, but {index[row]} has rows {first + 1} and "
            f"{row + 1}. Keep one row a patient."
        )
    return frame.set_axis(index), notes


def labels(
    path: Path, patient: str, ids: ArrayLike, names: Sequence[str] = (), elsewhere: Collection[str] = ()
) -> Labels:
    """Return the 0/1 columns `names`, or all but the id, for every one of `ids`; `elsewhere` are keys to pass over."""
    frame, notes = read(path, patient)
    need(names, frame.columns, path)
    chosen = list(names) or [name for name in frame.columns if name != patient]
    if not chosen:
        raise DataError(f"{path} has no column beside {patient!r}. Give it a 0/1 column for each outcome.")
    wanted = keys(pd.Series(np.asarray(ids)))
    absent = wanted[~wanted.isin(frame.index)]
    if len(absent):
        raise DataError(
            f"{path} has no row for {len(absent)} of {len(wanted)} stays, the first: {listed(absent)}. Every stay "
            "needs one."
        )
    taken = set(wanted) | set(elsewhere)
    extra = tuple(key for key in frame.index if key not in taken)
    return Labels(_binary(frame.loc[wanted, chosen], frame.index, path), extra, notes)


def beside(patients: pd.DataFrame, targets: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return patients with their targets, or raise DataError if a target has the name of another column."""
    for name in targets.columns:
        if name in patients.columns:
            raise DataError(f"The outcome {name!r} of {path} has the name of an input. Rename it.")
    return pd.concat([patients, targets], axis=1)


def listed(ids: Iterable[object], most: int = 3) -> str:
    """Return the first few ids as a user reads them."""
    shown = [str(value) for value in ids]
    return ", ".join(shown[:most]) + (", ..." if len(shown) > most else "")


def _binary(frame: pd.DataFrame, rows: pd.Index, path: Path) -> pd.DataFrame:
    columns = {}
    for name in frame.columns:
        column = pd.to_numeric(frame[name], errors="coerce")
        wrong = ~column.isin([0, 1]).to_numpy()
        if wrong.any():
            row = rows.get_loc(frame.index[wrong.argmax()]) + 1
            raise DataError(
                f"{path}, row {row}: the outcome {name!r} is neither 0 nor 1, as in {wrong.sum()} rows in all. Write 1 "
                "where it happened and 0 where not."
            )
        columns[name] = column.to_numpy(np.int8)
    return pd.DataFrame(columns)


def _key(value: Any) -> str:
    text = str(value).strip()
    whole, _, rest = text.partition(".")
    return str(int(whole)) if whole.isdecimal() and not rest.strip("0") else text

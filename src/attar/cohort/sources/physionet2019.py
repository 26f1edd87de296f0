"""PhysioNet Challenge 2019: hourly records of stays in intensive care, and in whom sepsis is to come."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from attar.cohort.prepared import Prepared
from attar.cohort.schema import Channel
from attar.cohort.sources import long, outcomes, records
from attar.cohort.sources.options import Options
from attar.errors import DataError, RecipeError
from attar.progress import Watch

_ID, _HOUR, _LABEL = "patient_id", "ICULOS", "SepsisLabel"
_LONG = "hourly_long.parquet"
_STEM = re.compile(r"p\d+")
_FEW = 100

_RANGES: Mapping[str, tuple[str, float, float]] = {
    "HR": ("/min", 10, 300),
    "O2Sat": ("%", 10, 100),
    "Temp": ("°C", 25, 45),
    "SBP": ("mmHg", 20, 300),
    "MAP": ("mmHg", 10, 300),
    "DBP": ("mmHg", 10, 250),
    "Resp": ("/min", 1, 100),
    "EtCO2": ("mmHg", 5, 150),
    "BaseExcess": ("mmol/L", -50, 100),
    "HCO3": ("mmol/L", 0, 80),
    "FiO2": ("fraction", 0.2, 1),
    "pH": ("", 6.5, 8),
    "PaCO2": ("mmHg", 5, 250),
    "SaO2": ("%", 10, 100),
    "AST": ("IU/L", 1, 50_000),
    "BUN": ("mg/dL", 0.5, 300),
    "Alkalinephos": ("IU/L", 1, 10_000),
    "Calcium": ("mg/dL", 0.5, 30),
    "Chloride": ("mmol/L", 20, 200),
    "Creatinine": ("mg/dL", 0.05, 50),
    "Bilirubin_direct": ("mg/dL", 0, 100),
    "Glucose": ("mg/dL", 5, 3000),
    "Lactate": ("mmol/L", 0.1, 50),
    "Magnesium": ("mg/dL", 0.1, 20),
    "Phosphate": ("mg/dL", 0.1, 50),
    "Potassium": ("mmol/L", 1, 30),
    "Bilirubin_total": ("mg/dL", 0, 100),
    "TroponinI": ("µg/L", 0, 500),
    "Hct": ("%", 3, 80),
    "Hgb": ("g/dL", 1, 35),
    "PTT": ("s", 5, 300),
    "WBC": ("/nL", 0.05, 500),
    "Fibrinogen": ("mg/dL", 10, 2000),
    "Platelets": ("/nL", 1, 3000),
}
"""Unit of each channel, and the lowest and highest value a living patient can have."""

CHANNELS = tuple(Channel(name=name, unit=unit) for name, (unit, _, _) in _RANGES.items())
_LOW, _HIGH = np.array([(low, high) for _, low, high in _RANGES.values()]).T
_STATIC = {
    "Age": "age_years",
    "Gender": "gender_male",
    "Unit1": "unit1_micu",
    "Unit2": "unit2_sicu",
    "HospAdmTime": "hosp_adm_time_h",
}
_COLUMNS = (*_RANGES, *_STATIC, _HOUR, _LABEL)


class _Piece(NamedTuple):
    """Some rows, the stay of each, and what to call a row in an error."""

    stay: NDArray[np.int64]
    rows: pa.Table | pa.RecordBatch
    where: Callable[[int], str]


@dataclass
class _Stays:
    """Every stay: values on the grid, descriptors, last hour recorded, first hour labelled septic, values refused."""

    values: NDArray[np.float32]
    static: NDArray[np.float64]
    last: NDArray[np.int64]
    onset: NDArray[np.float64]
    wild: NDArray[np.int64]


def read(path: Path, options: Options, watch: Watch) -> list[Prepared]:
    """Read stays that last `hours` and are without sepsis till then; the target is sepsis after them."""
    if options.hours < 1:
        raise RecipeError(f"--hours {options.hours} leaves no hour. Give 1 or more.")
    if (path / _LONG).exists():
        ids = _parquet_ids(path / _LONG)
        pieces = _parquet_pieces(path / _LONG, ids, watch)
    else:
        files = _files(path)
        ids = np.array([int(file.stem[1:]) for file in files])
        pieces = _text_pieces(files, watch)
    count, hours = len(ids), options.hours
    stays = _Stays(
        values=np.full((count, hours, len(CHANNELS)), np.nan, np.float32),
        static=np.full((count, len(_STATIC)), np.nan),
        last=np.zeros(count, np.int64),
        onset=np.full(count, np.inf),
        wild=np.zeros(count, np.int64),
    )
    for piece in pieces:
        _place(piece, stays)
    short = stays.last < hours
    septic = ~short & (stays.onset <= hours) & (options.outcomes is None)
    kept = ~short & ~septic
    if not kept.any():
        raise DataError(f"No stay in {path} lasts {hours} hours without sepsis. Give fewer with --hours.")
    labels, notes = _labels(path, ids, kept, stays.onset, options)
    values = stays.values[kept]
    empty = np.isnan(values).all(axis=(1, 2))
    if empty.any():
        notes += (
            f"{empty.sum()} stays have no measurement in the first {hours} hours and were kept, the first: {_ID} "
            f"{ids[kept][empty.argmax()]}.",
        )
    static = pd.DataFrame(stays.static[kept].round(4), columns=list(_STATIC.values()))
    static.insert(0, _ID, ids[kept])
    dropped = {
        f"stays of less than {hours} hours": int(short.sum()),
        f"stays with sepsis in the first {hours} hours": int(septic.sum()),
        "rows of outcomes without a stay": len(labels.extra),
        "values no living patient can have": int(stays.wild[kept].sum()),
    }
    return [
        Prepared(
            name="physionet2019",
            title=f"PhysioNet Challenge 2019, the first {hours} hours in intensive care",
            patients=outcomes.beside(static, labels.frame, options.outcomes or path),
            targets=tuple(labels.frame.columns),
            id=_ID,
            values=values,
            channels=CHANNELS,
            kept={"stays": len(values), "values": int(np.isfinite(values).sum())},
            dropped={what: number for what, number in dropped.items() if number},
            notes=notes,
        )
    ]


def _labels(
    path: Path, ids: NDArray[np.int64], kept: NDArray[np.bool_], onset: NDArray[np.float64], options: Options
) -> tuple[outcomes.Labels, tuple[str, ...]]:
    """Return the outcomes of a user's table, or who turns septic after the hours, and what to say of them."""
    if options.outcomes:
        labels = outcomes.labels(options.outcomes, _ID, ids[kept], elsewhere=set(ids[~kept].astype(str)))
        extra = (
            f"{len(labels.extra)} rows of {options.outcomes} have no stay in {path}, the first: "
            f"{outcomes.listed(labels.extra, 1)}."
        )
        return labels, (*labels.notes, *([extra] if labels.extra else []))
    sepsis = np.isfinite(onset[kept]).astype(np.int8)
    more = "" if sepsis.sum() >= _FEW else ", which is few: --hours 12 may leave more"
    note = f"Sepsis comes after hour {options.hours} in {sepsis.sum()} of {len(sepsis)} stays{more}."
    return outcomes.Labels(pd.DataFrame({"sepsis": sepsis}), (), ()), (note,)


def _files(path: Path) -> list[Path]:
    found = (file for file in path.rglob("p*.psv") if _STEM.fullmatch(file.stem))
    files = sorted(found, key=lambda file: (int(file.stem[1:]), file))
    if not files:
        raise DataError(
            f"{path} holds neither {_LONG} nor files such as p000001.psv. Give the folder in which the Challenge's "
            "training sets were unpacked."
        )
    for one, other in pairwise(files):
        if int(one.stem[1:]) == int(other.stem[1:]):
            raise DataError(f"{one} and {other} are one stay. Leave each stay in the folder once.")
    return files


def _text_pieces(files: list[Path], watch: Watch) -> Iterator[_Piece]:
    for gulp in records.gulps(files, dict.fromkeys(_COLUMNS, pa.float64()), "|", watch):
        yield _Piece(gulp.stay, gulp.table, gulp.line)


def _parquet_ids(path: Path) -> NDArray[np.int64]:
    found = [np.zeros(0, np.int64)]
    for batch, _ in long.parquet_batches(path, [_ID], [_ID]):
        found.append(np.unique(_numbers(batch, _ID)).astype(np.int64))
    return np.unique(np.concatenate(found))


def _parquet_pieces(path: Path, ids: NDArray[np.int64], watch: Watch) -> Iterator[_Piece]:
    watch.stage("reading", 100)
    done, last = 0, -1
    for batch, share in long.parquet_batches(path, (_ID, *_COLUMNS)):
        own, before = _numbers(batch, _ID), done

        def where(row: int, before: int = before) -> str:
            return f"{path}, row {before + row + 1}"

        falls = np.flatnonzero(np.diff(own, prepend=last) < 0)
        if len(falls):
            raise DataError(f"{where(int(falls[0]))}: {_ID} is not ascending. Sort the table by it and {_HOUR}.")
        yield _Piece(np.searchsorted(ids, own), batch, where)
        done, last = done + batch.num_rows, own[-1]
        watch.update(round(100 * share))


def _numbers(rows: pa.Table | pa.RecordBatch, name: str) -> NDArray[np.float64]:
    return rows.column(name).to_pandas().to_numpy(np.float64, na_value=np.nan)


def _place(piece: _Piece, stays: _Stays) -> None:
    """Put rows into the stays; the row of hour k, which is ICULOS k + 1, fills hour k of the grid."""
    stay, hour, label = piece.stay, _numbers(piece.rows, _HOUR), _numbers(piece.rows, _LABEL)
    new = np.append(True, stay[1:] != stay[:-1])
    before = np.where(new, stays.last[stay], np.roll(hour, 1))
    for wrong, what in (
        (~((hour >= 1) & (hour % 1 == 0)), f"{_HOUR} is not a whole number from 1 on"),
        (hour <= before, f"{_HOUR} does not increase from row to row of a stay"),
        (~np.isin(label, (0, 1)), f"{_LABEL} is neither 0 nor 1"),
    ):
        if wrong.any():
            raise DataError(f"{piece.where(int(wrong.argmax()))}: {what}. Mend or unpack it anew.")
    stays.last[stay] = hour
    np.minimum.at(stays.onset, stay, np.where(label == 1, hour, np.inf))
    stays.static[stay] = np.column_stack([_numbers(piece.rows, name) for name in _STATIC])
    early = hour <= stays.values.shape[1]
    found = np.column_stack([_numbers(piece.rows, name)[early] for name in _RANGES])
    wild = (found < _LOW) | (found > _HIGH)
    np.add.at(stays.wild, stay[early], wild.sum(axis=1))
    stays.values[stay[early], hour[early].astype(np.int64) - 1] = np.where(wild, np.nan, found)

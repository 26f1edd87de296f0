"""PhysioNet Challenge 2012: the first 48 hours of 12,000 stays in intensive care, and who died in hospital."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attar.cohort.grid import grid
from attar.cohort.prepared import Prepared
from attar.cohort.schema import Channel
from attar.cohort.sources import outcomes, physionet2012_files
from attar.cohort.sources.options import Options
from attar.cohort.sources.physionet2012_files import ID, LONG, SET, STAYS, Rows, Stays
from attar.errors import DataError, RecipeError
from attar.progress import Watch

_DEATH = "In-hospital_death"
_LONGEST = 48
_UNITS = {1: "coronary care", 2: "cardiac surgery recovery", 3: "medical", 4: "surgical"}

_RANGES: Mapping[str, tuple[str, float, float]] = {
    "Albumin": ("g/dL", 0.5, 10),
    "ALP": ("IU/L", 1, 10_000),
    "ALT": ("IU/L", 1, 30_000),
    "AST": ("IU/L", 1, 50_000),
    "Bilirubin": ("mg/dL", 0.05, 100),
    "BUN": ("mg/dL", 0.5, 300),
    "Cholesterol": ("mg/dL", 10, 1000),
    "Creatinine": ("mg/dL", 0.05, 50),
    "DiasABP": ("mmHg", 10, 250),
    "FiO2": ("fraction", 0.2, 1),
    "GCS": ("points", 3, 15),
    "Glucose": ("mg/dL", 5, 3000),
    "HCO3": ("mmol/L", 1, 80),
    "HCT": ("%", 3, 80),
    "HR": ("/min", 10, 300),
    "K": ("mmol/L", 1, 15),
    "Lactate": ("mmol/L", 0.1, 50),
    "MAP": ("mmHg", 10, 300),
    "MechVent": ("", 0, 1),
    "Mg": ("mg/dL", 0.1, 20),
    "Na": ("mmol/L", 80, 220),
    "NIDiasABP": ("mmHg", 10, 250),
    "NIMAP": ("mmHg", 10, 300),
    "NISysABP": ("mmHg", 20, 300),
    "PaCO2": ("mmHg", 5, 250),
    "PaO2": ("mmHg", 10, 800),
    "pH": ("", 6.5, 8),
    "Platelets": ("/nL", 1, 3000),
    "RespRate": ("/min", 1, 100),
    "SaO2": ("%", 10, 100),
    "SysABP": ("mmHg", 20, 300),
    "Temp": ("°C", 25, 45),
    "TroponinI": ("µg/L", 0, 500),
    "TroponinT": ("µg/L", 0, 100),
    "Urine": ("mL", 0, 12_000),
    "WBC": ("/nL", 0.05, 500),
    "Weight": ("kg", 20, 400),
}
"""Unit of each channel, and the lowest and highest value a living patient can have."""

# MechVent is only ever 1: a constant whole number, whose being there is what it says.
CHANNELS = tuple(
    Channel(
        name=name,
        kind="integer" if name in ("GCS", "MechVent") else "numeric",
        unit=unit,
        rule="sum" if name == "Urine" else "last",
    )
    for name, (unit, _, _) in _RANGES.items()
)
_LOW, _HIGH = np.array([(low, high) for _, low, high in _RANGES.values()]).T
_STATIC = ("Age", "Gender", "Height", "ICUType", "Weight")
_CODES = {name: code for code, name in enumerate(dict.fromkeys((*_RANGES, *_STATIC, ID)))}


def read(path: Path, options: Options, watch: Watch) -> list[Prepared]:
    """Read the sets in a folder, by default all, as one cohort on an hourly grid."""
    if not 1 <= options.hours <= _LONGEST:
        raise RecipeError(f"--hours {options.hours} does not suit records of {_LONGEST} hours. Give 1 to {_LONGEST}.")
    strange: Counter[str] = Counter()
    if (path / LONG).exists():
        stays = physionet2012_files.parquet_stays(path, options.only)
        rows = physionet2012_files.parquet_rows(path / LONG, stays, _CODES, strange, watch)
    else:
        stays = physionet2012_files.text_stays(path, options.only)
        rows = physionet2012_files.text_rows(stays.files, _CODES, strange, watch)
    labels = _labels(path, stays, options.outcomes)
    values = np.full((len(stays.ids), options.hours, len(CHANNELS)), np.nan, np.float32)
    static = np.full((len(stays.ids), len(_STATIC)), np.nan)
    counts: Counter[str] = Counter()
    for piece in rows:
        _place(piece, values, static, counts)
    notes, used = list(labels.notes), counts.pop("used")
    if strange:
        counts["rows of unknown parameters"] = strange.total()
        notes.append(f"Unknown parameters were left out: {outcomes.listed(sorted(strange), 5)}.")
    if labels.extra:
        counts["rows of outcomes without a stay"] = len(labels.extra)
        notes.append(f"{len(labels.extra)} rows of {options.outcomes} have no stay, the first: {labels.extra[0]}.")
    empty = np.isnan(values).all(axis=(1, 2))
    if empty.any():
        notes.append(
            f"{empty.sum()} stays have no measurement in the first {options.hours} hours and were kept, the first: "
            f"{ID} {stays.ids[empty.argmax()]}."
        )
    return [
        Prepared(
            name="physionet2012",
            title=f"PhysioNet Challenge 2012, the first {options.hours} hours in intensive care",
            patients=outcomes.beside(_patients(stays, static), labels.frame, options.outcomes or path),
            targets=tuple(labels.frame.columns),
            id=ID,
            groups=(SET,),
            values=values,
            channels=CHANNELS,
            kept={"stays": len(stays.ids), "values": used},
            dropped={what: count for what, count in counts.items() if count},
            notes=tuple(notes),
        )
    ]


def _labels(path: Path, stays: Stays, table: Path | None) -> outcomes.Labels:
    """Return the outcomes of a user's table, or deaths in hospital; the Challenge's own tables name no other stay."""
    if table:
        return outcomes.labels(table, ID, stays.ids, elsewhere=stays.elsewhere)
    if not stays.files:
        labels = outcomes.labels(path / STAYS, ID, stays.ids, [_DEATH], stays.elsewhere)
    else:
        sets = np.unique(stays.sets)
        parts = [_deaths(path / f"Outcomes-{name}.txt", stays.ids[stays.sets == name]) for name in sets]
        deaths = pd.concat([part.frame for part in parts], ignore_index=True)
        labels = outcomes.Labels(deaths, (), tuple(note for part in parts for note in part.notes))
    return labels._replace(frame=labels.frame.rename(columns={_DEATH: "in_hospital_death"}))


def _deaths(file: Path, ids: NDArray[np.int64]) -> outcomes.Labels:
    labels = outcomes.labels(file, ID, ids, [_DEATH])
    if labels.extra:
        raise DataError(
            f"{file} has {len(labels.extra)} rows without a record, the first: {outcomes.listed(labels.extra)}. "
            "Unpack the set anew."
        )
    return labels


def _place(rows: Rows, values: NDArray[np.float32], static: NDArray[np.float64], counts: Counter[str]) -> None:
    """Put the descriptors of admission into `static`, the measurements into `values`."""
    for column, name in enumerate(_STATIC):
        # The descriptor is the first row of its name; a weight measured at 00:00 may follow.
        at = np.flatnonzero((rows.code == _CODES[name]) & (rows.minutes == 0))[::-1]
        static[rows.stay[at], column] = rows.value[at]
    series = (rows.code >= 0) & (rows.code < len(CHANNELS))
    stay, minutes, code, value = (part[series] for part in rows)
    unknown = np.isnan(value) | ((code == _CODES["Weight"]) & (value == -1))
    wild = ~unknown & ((value < _LOW[code]) | (value > _HIGH[code]))
    found = grid(values, stay, minutes / 60, code, np.where(unknown | wild, np.nan, value), CHANNELS)
    counts["used"] += found.used
    counts["rows without a value"] += int(unknown.sum())
    counts["values no living patient can have"] += int(wild.sum())
    counts[f"values after hour {values.shape[1]}"] += found.outside
    counts["values given twice for one time"] += found.doubled


def _patients(stays: Stays, static: NDArray[np.float64]) -> pd.DataFrame:
    # The Parquet table holds float32, of which the digits beyond the text's are noise.
    age, gender, height, unit, weight = np.where(static < 0, np.nan, static).round(4).T
    return pd.DataFrame(
        {
            ID: stays.ids,
            SET: stays.sets,
            "age_years": age,
            "gender_male": gender,
            "height_cm": np.where((height >= 100) & (height <= 250), height, np.nan),
            "icu_type": pd.Series(unit).map(_UNITS).astype("str"),
            "weight_kg": np.where((weight >= 20) & (weight <= 400), weight, np.nan),
        }
    )

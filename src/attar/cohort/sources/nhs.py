"""NHS emergency departments: a CSV or Parquet file a site, a row a presentation, 26 measurements and a label."""

import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from pandas.api import types

from attar.cohort.files import read as read_file
from attar.cohort.prepared import Prepared
from attar.cohort.sources.options import Options
from attar.errors import DataError, RecipeError, nearest
from attar.progress import Watch


@dataclass(frozen=True)
class Predictor:
    """A measurement at arrival: its column, the unit hospitals use, and what else they call it."""

    name: str
    unit: str
    synonyms: tuple[str, ...] = ()


PREDICTORS = (
    Predictor("heart_rate", "bpm", ("hr", "pulse", "pulse rate")),
    Predictor("respiratory_rate", "/min", ("rr", "resp rate", "respiration rate")),
    Predictor("oxygen_saturation", "%", ("spo2", "sats", "o2 sats", "o2 saturation")),
    Predictor("systolic_bp", "mmHg", ("sbp", "sysbp", "systolic", "systolic blood pressure")),
    Predictor("diastolic_bp", "mmHg", ("dbp", "diasbp", "diastolic", "diastolic blood pressure")),
    Predictor("temperature", "deg C", ("temp", "temperature tympanic", "body temperature")),
    Predictor("haemoglobin", "g/L", ("hb", "hgb", "hemoglobin")),
    Predictor("haematocrit", "L/L", ("hct", "pcv", "hematocrit")),
    Predictor("mean_cell_volume", "fL", ("mcv", "mean cell vol", "mean corpuscular volume")),
    Predictor(
        "white_cell_count", "10^9/L", ("wcc", "wbc", "white cells", "white blood cells", "white blood cell count")
    ),
    Predictor("neutrophils", "10^9/L", ("neut", "neuts", "neutrophil", "neutrophil count")),
    Predictor("lymphocytes", "10^9/L", ("lymph", "lymphs", "lymphocyte", "lymphocyte count")),
    Predictor("monocytes", "10^9/L", ("mono", "monos", "monocyte", "monocyte count")),
    Predictor("eosinophils", "10^9/L", ("eos", "eosinophil", "eosinophil count")),
    Predictor("basophils", "10^9/L", ("baso", "basos", "basophil", "basophil count")),
    Predictor("platelets", "10^9/L", ("plt", "plts", "platelet", "platelet count")),
    Predictor("albumin", "g/L", ("alb",)),
    Predictor("alkaline_phosphatase", "IU/L", ("alp", "alk phos", "alk phosphatase")),
    Predictor("alanine_aminotransferase", "IU/L", ("alt", "alanine transaminase", "sgpt")),
    Predictor("bilirubin", "umol/L", ("bili", "total bilirubin")),
    Predictor("c_reactive_protein", "mg/L", ("crp",)),
    Predictor("sodium", "mmol/L", ("na",)),
    Predictor("potassium", "mmol/L", ("k",)),
    Predictor("creatinine", "umol/L", ("creat", "cr")),
    Predictor("urea", "mmol/L", ("serum urea",)),
    Predictor("egfr", "mL/min/1.73m2", ("gfr", "estimated gfr", "estimated glomerular filtration rate")),
)
FEWEST = len(PREDICTORS) // 2
TARGET = "covid19_positive"
_LABELS = (TARGET, "covid positive", "covid19", "covid", "label", "y")
_FIRST = {"patient": ("patient", "patient id"), "age": ("age",), "sex": ("sex", "gender")}
_COLUMNS = {**_FIRST, **{known.name: (known.name, *known.synonyms) for known in PREDICTORS}}
_NO_NUMBERS = ("patient", "sex")
_ENDINGS = re.compile(r"\.(csv|csv\.gz|tsv|tsv\.gz|parquet|pq)$", re.IGNORECASE)


def read(path: Path, options: Options, watch: Watch) -> list[Prepared]:
    """Read a folder of site files, or one, and keep the sites apart; columns are named alike at every site."""
    if len(options.target) > 1:
        raise RecipeError(f"An NHS cohort has one label, but --target names {', '.join(options.target)}. Name one.")
    files = _sites(path)
    for site in options.only:
        if site not in files:
            raise DataError(f"{path} has no file of a site {site!r}.{nearest(site, files)}")
    chosen = {site: file for site, file in files.items() if not options.only or site in options.only}
    watch.stage("reading", len(chosen))
    cohorts = []
    for done, (site, file) in enumerate(chosen.items(), start=1):
        cohorts.append(_site(site, file, next(iter(options.target), None)))
        watch.update(done, site)
    return cohorts


def _sites(path: Path) -> dict[str, Path]:
    """Return the file of each site, which is named by the file's stem."""
    found: dict[str, Path] = {}
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        if file.name.startswith(".") or not _ENDINGS.search(file.name):
            continue
        site = _ENDINGS.sub("", file.name)
        if site in found:
            raise DataError(f"{found[site]} and {file} are both of site {site!r}. Keep one of them in the folder.")
        found[site] = file
    if not found:
        raise DataError(f"{path} is no CSV or Parquet file and has none in it. Give a folder with a file a site.")
    return found


def _site(site: str, path: Path, target: str | None) -> Prepared:
    """Read one site: the columns that are known, under their own names, of the rows that have a label."""
    table, warnings = read_file(path)
    table = table.reset_index(drop=True)
    name, label = target or TARGET, _label(table, target, path)
    columns = _match(table, name, label, path)
    missing = [f"{known.name} ({known.unit})" for known in PREDICTORS if known.name not in columns]
    found = len(PREDICTORS) - len(missing)
    if found < FEWEST:
        raise DataError(
            f"{path} has {found} of the {len(PREDICTORS)} measurements, fewer than {FEWEST}. Rename its columns; these "
            f"were looked for: {', '.join(missing)}."
        )
    unknown = table[label].isna()
    rows = table[~unknown]
    patients = pd.DataFrame({to: _column(rows[columns[to]], to, path) for to in (*_COLUMNS, name) if to in columns})
    if patients[name].nunique() != 2:
        raise DataError(
            f"Column {label!r} of {path} has {patients[name].nunique()} values; a label has two, such as 0 and 1. Say "
            "--target for another column, or make a yes/no column of it."
        )
    notes = list(warnings)
    if label != name:
        notes.append(f"Column {label!r} of {path} was taken as the label and is called {name!r}.")
    if missing:
        notes.append(f"{path} lacks {len(missing)} of {len(PREDICTORS)} measurements: {', '.join(missing)}.")
    if ignored := [str(column) for column in table if column not in columns.values()]:
        notes.append(f"{len(ignored)} column(s) of {path} were not used: {', '.join(ignored)}.")
    if unknown.any():
        notes.append(f"{unknown.sum()} row(s) of {path} have no label, first in data row {unknown.argmax() + 1}.")
    return Prepared(
        name=site,
        patients=patients.reset_index(drop=True),
        targets=(name,),
        id="patient" if "patient" in patients else None,
        title=f"NHS emergency department, {site}",
        kept={"presentations": len(patients), "measurements": found},
        dropped={"presentations without a label": int(unknown.sum())} if unknown.any() else {},
        notes=tuple(notes),
    )


def _label(table: pd.DataFrame, target: str | None, path: Path) -> str:
    """Return the column of the label: the one asked for, or the only one with a usual name."""
    if target in table:
        return str(target)
    usual = {_plain(name) for name in ((target,) if target else _LABELS)}
    found = [str(column) for column in table if _plain(column) in usual]
    if len(found) == 1:
        return found[0]
    if target:
        raise DataError(f"{path} has no column {target!r}, named as target.{nearest(target, table.columns)}")
    what = f"several columns that may be the label ({', '.join(found)})" if found else "no column named like a label"
    raise DataError(f"{path} has {what}. Say --target COL (target=) for the column of confirmed COVID-19.")


def _match(table: pd.DataFrame, name: str, label: str, path: Path) -> dict[str, str]:
    """Return the file's column for each name that attar uses."""
    known = {_plain(word): to for to, words in _COLUMNS.items() for word in words}
    columns = {name: label}
    for column in table:
        to = known.get(_plain(column))
        if to is None or column == label:
            continue
        if to in columns:
            raise DataError(f"Columns {columns[to]!r} and {column!r} of {path} both mean {to}. Remove or rename one.")
        columns[to] = str(column)
    return columns


def _plain(name: object) -> str:
    """Return a column's name without unit in brackets, spaces, marks, case and CURIAL's word for the kind of test."""
    bare = re.sub(r"\(.*?\)|\[.*?\]", "", str(name).lower())
    return re.sub(r"[\W_]", "", bare).removeprefix("bloodtest").removeprefix("vitalsign")


def _column(series: pd.Series, to: str, path: Path) -> pd.Series:
    """Return a measurement as numbers, or refuse it; whole numbers for a label that a gap had made decimals."""
    if to not in _COLUMNS:
        return series.astype("int64") if types.is_float_dtype(series) and (series % 1 == 0).all() else series
    if to in _NO_NUMBERS or (types.is_numeric_dtype(series) and not types.is_bool_dtype(series)):
        return series
    text = series.astype("str").str.strip()
    values = pd.to_numeric(text, errors="coerce")
    wrong = values.isna() & text.notna() & (text != "")
    if wrong.any():
        raise DataError(
            f"Column {series.name!r} of {path} holds text in {wrong.sum()} row(s), first in data row "
            f"{wrong.idxmax() + 1}. Write a number there (the limit, where a laboratory gives one) or an empty cell."
        )
    return values

"""Bring a column to a plain dtype, and refuse or drop the columns no model can use."""

import re
import shlex
from numbers import Number

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api import types

from attar.cohort.schema import Column, is_number, numbers
from attar.errors import DataError

_FEW_CATEGORIES = 50
_DISTINCT_SHARE = 0.05
_MANY_NUMBERS = 20
_FEWEST_NUMBERED = 500
_FEW_MISSING = 0.05
_LARGEST = 1e15
_SEVERAL_CODES = 5
_MARKERS = {
    "na",
    "n/a",
    "n.a.",
    "nan",
    "null",
    "none",
    "nil",
    "?",
    "-",
    "--",
    ".",
    "*",
    "",
    "unknown",
    "unk",
    "missing",
}
_MARKERS |= {"not done", "not available", "not applicable", "not known", "nd"}
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_TIME = r"([ t]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[ap]m)?(z|[+-]\d{2}:?\d{2})?)?"
_DECIMAL_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d*),\d+")
_CODE = re.compile(r"[A-Za-z]{1,3}[-. ]?\d[\dA-Za-z.-]*")
_DATE = re.compile(
    rf"(\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.](\d{{2}}|\d{{4}})"
    rf"|\d{{1,2}}[- ]{_MONTH}[- ]\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}}){_TIME}",
    re.IGNORECASE,
)


def leave_out(name: str) -> str:
    """Return the remedy that every unusable column shares."""
    return f"leave it out with --drop {shlex.quote(name)} (drop= in Python)"


def plain(series: pd.Series) -> pd.Series:
    """Return the column as numbers, text, booleans or categories of these, or raise DataError."""
    name, dtype = str(series.name), series.dtype
    if isinstance(dtype, pd.SparseDtype):
        return series.sparse.to_dense()
    if isinstance(dtype, pd.ArrowDtype):
        return plain(pa.array(series).to_pandas().set_axis(series.index).rename(name))
    if isinstance(dtype, pd.CategoricalDtype):
        usable = types.infer_dtype(dtype.categories) in ("string", "integer", "floating", "boolean", "empty")
        return series if usable else _from_objects(series.astype(object), name)
    if is_number(series) and not types.is_complex_dtype(dtype):
        return series
    if types.is_bool_dtype(dtype) or isinstance(dtype, pd.StringDtype):
        return series
    return _from_objects(series, name)


def constant(series: pd.Series) -> str | None:
    """Return why a column says nothing about anyone, or None if it does."""
    if is_number(series):
        found = numbers(series)
        found = found[~np.isnan(found)]
        several = bool(len(found)) and found.min() != found.max()
    else:
        found = series.dropna()
        several = found.nunique() > 1
    if several:
        return None
    if not len(found):
        return f"Column {series.name!r} has no value in any row and was left out."
    if len(found) == len(series):
        return f"Column {series.name!r} has the same value in every row and was left out."
    return (
        f"Column {series.name!r} has one value only, otherwise nothing, and was left out. If an empty cell means "
        "'no', write a 0 there."
    )


def numbers_patients(series: pd.Series, column: Column) -> bool:
    """Whether a column of whole numbers differs in every row; a few may lack one, which makes a CSV's column floats."""
    whole = column.kind == "integer" and (types.is_integer_dtype(series.dtype) or column.missing > 0)
    return whole and column.missing <= _FEW_MISSING and bool(series.dropna().is_unique)


def numbering(series: pd.Series, column: Column) -> str | None:
    """Return why a column numbers the patients instead of measuring them, or None if that is not so or not sure.

    A measurement in whole numbers repeats among many patients, if not among a few.
    """
    if len(series) < _FEWEST_NUMBERED or not numbers_patients(series, column):
        return None
    return (
        f"Column {column.name!r} differs in every row, like a patient's number, and was left out. If it is a "
        f"measurement, say --kind {shlex.quote(column.name + '=integer')} (kinds= in Python)."
    )


def refuse_infinite(series: pd.Series) -> None:
    """Raise DataError if a number column holds infinities, or numbers too large to be computed with exactly."""
    if not is_number(series):
        return
    found = np.abs(numbers(series))
    count = int(np.isinf(found).sum())
    if count:
        raise DataError(
            f"Column {series.name!r} holds {count} infinite value{'s' * (count > 1)}, as a division by zero gives. "
            "Write an empty cell in place of each."
        )
    count = int((found > _LARGEST).sum())
    if count:
        raise DataError(
            f"Column {series.name!r} holds {count} number{'s' * (count > 1)} beyond {_LARGEST:.0e}, more likely codes "
            f"than measurements. Write an empty cell in place of each, or {leave_out(str(series.name))}."
        )


def refuse_text(series: pd.Series) -> None:
    """Raise DataError if a text column is really dates, or numbers with some text among them."""
    if not isinstance(series.dtype, pd.StringDtype):
        return
    counts = series.value_counts()
    texts = counts.index.to_series().astype(str).str.strip()
    sample = texts.iloc[:500]
    if sample.str.fullmatch(_DATE).mean() >= 0.95:
        _refuse_date(str(series.name))
    comma = texts.str.fullmatch(_DECIMAL_COMMA).to_numpy()
    number = comma | pd.to_numeric(texts, errors="coerce").notna().to_numpy()
    marker = texts.str.lower().isin(_MARKERS).to_numpy()
    if _are_codes(texts[~number & ~marker]):
        return
    number_rows, text_rows = int(counts[number].sum()), int(counts[~number].sum())
    many = number.sum() > _MANY_NUMBERS
    name = str(series.name)
    remedy = f"say --kind {shlex.quote(name + '=categorical')} (kinds= in Python)"
    if many and comma.any() and not text_rows:
        raise DataError(
            f"Column {name!r} holds {number_rows} numbers with a decimal comma. Write them with a decimal point, or "
            f"{remedy}, or {leave_out(name)}."
        )
    if text_rows and number_rows >= text_rows and (marker.any() or many):
        raise DataError(_mixed(name, number_rows, text_rows, list(texts[marker]), remedy))


def refuse_free_text(column: Column, rows: int) -> None:
    """Raise DataError if a categorical column has more categories than patients can fill."""
    count = len(column.values)
    if column.kind != "categorical" or count <= max(_FEW_CATEGORIES, _DISTINCT_SHARE * rows):
        return
    if count == rows:
        looks, mend = "an identifier", f"If it names the patient, say --id {shlex.quote(column.name)} (id=)"
    else:
        looks, mend = "free text", "Group its values into fewer than 50"
    raise DataError(
        f"Column {column.name!r} has {count} categories in {rows} rows and looks like {looks}. {mend}, "
        f"or {leave_out(column.name)}."
    )


def _from_objects(series: pd.Series, name: str) -> pd.Series:
    found = types.infer_dtype(series, skipna=True)
    if found == "string":
        return series.astype("str")
    if found == "boolean":
        return series.astype("boolean" if series.isna().any() else "bool")
    if found in ("integer", "floating", "mixed-integer-float", "decimal", "empty"):
        return pd.to_numeric(series.astype("float64") if found in ("decimal", "empty") else series)
    if found in ("datetime", "datetime64", "date", "time", "timedelta", "timedelta64", "period"):
        _refuse_date(name)
    present = series.dropna()
    texts = [value for value in present if isinstance(value, str)]
    number_count = sum(isinstance(value, Number) for value in present)
    if texts and number_count:
        markers = sorted({text for text in texts if text.strip().lower() in _MARKERS})
        raise DataError(_mixed(name, number_count, len(texts), markers, "make every value text"))
    held = sorted({type(value).__name__ for value in present})
    raise DataError(
        f"Column {name!r} holds values of type {', '.join(held)}; a feature is numbers, text or yes/no. "
        f"Convert it, or {leave_out(name)}."
    )


def _are_codes(texts: pd.Series) -> bool:
    """Whether all texts that stand among numbers are letters with numbers, as V27 among ICD-9's 414 and 428."""
    return len(texts) >= _SEVERAL_CODES and bool(texts.str.fullmatch(_CODE).all())


def _refuse_date(name: str) -> None:
    raise DataError(
        f"Column {name!r} holds dates or times, which no model can use as they are. Turn it into a number (for example "
        f"days since admission), or {leave_out(name)}."
    )


def _mixed(name: str, number_count: int, text_count: int, markers: list[str], remedy: str) -> str:
    start = f"Column {name!r} mixes {number_count} numbers and {text_count} texts. "
    if markers:
        shown = ", ".join(repr(marker) for marker in markers[:3])
        start += f"{shown} looks like a missing value: write an empty cell in its place. "
    return start + f"Make every value a number, or {remedy}, or {leave_out(name)}."

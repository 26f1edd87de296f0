"""A long table of patient, time, variable and value, read chunk after chunk from CSV or Parquet."""

import csv as rows
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv

from attar.cohort.sources import outcomes
from attar.errors import DataError

_BYTES_AT_ONCE = 2**24
_ROWS_AT_ONCE = 2**19
_HEADER_BYTES = 2**16
_NO_VALUE = frozenset({"", "#N/A", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan"})


class Coded(NamedTuple):
    """A column as its distinct values and, for each row, the position of its own, -1 where it has none."""

    distinct: pd.Series
    at: NDArray[np.int64]


class Chunk(NamedTuple):
    """Some rows; `first` is the number of the first, `share` how much of the file is read.

    `time` is in hours, of a `dated` table since 1970. `number` holds the distinct values as numbers, NaN for text.
    """

    first: int
    share: float
    dated: bool
    patient: Coded
    time: NDArray[np.float64]
    variable: Coded
    value: Coded
    number: NDArray[np.float64]


def chunks(path: Path, patient: str, time: str, variable: str, value: str) -> Iterator[Chunk]:
    """Yield the rows of four columns; one without patient, variable or legible time is refused."""
    first, dated = 1, None
    batches = parquet_batches if path.suffix.lower() in (".parquet", ".pq") else _csv_batches
    for batch, share in batches(path, (patient, time, variable, value)):
        if not batch.num_rows:
            continue
        who, when, what = (_coded(batch.column(name), {""}) for name in (patient, time, variable))
        found = _coded(batch.column(value), _NO_VALUE)
        for name, column in ((patient, who), (time, when), (variable, what)):
            _refuse(column.at < 0, first, f"has no {name}", "Fill it in or remove the row", path)
        if dated is None:
            dated = not _is_number(when.distinct.iloc[when.at[0]])
        hours = _hours(when.distinct, dated)[when.at]
        kind = "a date and time such as 2024-01-31 14:05" if dated else "a number of hours"
        _refuse(~np.isfinite(hours), first, f"has a {time} that is not {kind}", "Mend it", path)
        number = pd.to_numeric(found.distinct, errors="coerce").to_numpy(np.float64)
        large = np.abs(number) > np.finfo(np.float32).max
        _refuse((found.at >= 0) & large[found.at], first, f"has a {value} too large for a number", "Mend it", path)
        keys = pd.Series(outcomes.keys(who.distinct), dtype=object)
        names = what.distinct.astype(str)
        yield Chunk(first, share, dated, Coded(keys, who.at), hours, Coded(names, what.at), found, number)
        first += batch.num_rows
    if first == 1:
        raise DataError(f"{path} has column names but no rows. Give a table with measurements in it.")


def _refuse(wrong: NDArray[np.bool_], first: int, what: str, remedy: str, path: Path) -> None:
    if wrong.any():
        raise DataError(f"{path}, row {first + int(wrong.argmax())}, {what}. {remedy}.")


def _coded(column: pa.Array, blank: Collection[str]) -> Coded:
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    distinct = coded.dictionary.to_pandas(date_as_object=False)
    at = coded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False).astype(np.int64)
    if isinstance(distinct.dtype, pd.StringDtype):
        distinct = distinct.str.strip()
    missing = distinct.isna() | distinct.isin(blank)
    return Coded(distinct, np.where(np.append(missing, True)[at], -1, at))


def _is_number(value: object) -> bool:
    return not isinstance(value, pd.Timestamp) and bool(pd.notna(pd.to_numeric(value, errors="coerce")))


def _hours(times: pd.Series, dated: bool) -> NDArray[np.float64]:
    if not dated:
        return pd.to_numeric(times, errors="coerce").to_numpy(np.float64)
    moments = pd.to_datetime(times, format="ISO8601", errors="coerce", utc=True)
    return ((moments - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(hours=1)).to_numpy(np.float64)


def parquet_batches(
    path: Path, names: Sequence[str], full: Sequence[str] = ()
) -> Iterator[tuple[pa.RecordBatch, float]]:
    """Yield the rows of some columns, of which `full` have a value in every row, and how much of the file is read."""
    try:
        with pq.ParquetFile(path) as file:
            outcomes.need(names, file.schema_arrow.names, path)
            done = 0
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=list(names)):
                for name in full:
                    missing = batch.column(name).is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
                    _refuse(missing, done + 1, f"has no {name}", "Fill it in or remove the row", path)
                done += batch.num_rows
                yield batch, done / file.metadata.num_rows
    except (pa.ArrowException, OSError):
        raise DataError(f"{path} is not a readable Parquet file (damaged, or another format). Write it anew.") from None


def _csv_batches(path: Path, names: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, float]]:
    word = pa.dictionary(pa.int32(), pa.string())
    try:
        delimiter, size = _delimiter(path, names), path.stat().st_size
        with path.open("rb") as raw:
            reader = csv.open_csv(
                pa.input_stream(raw, compression="gzip" if path.suffix.lower() == ".gz" else None),
                csv.ReadOptions(block_size=_BYTES_AT_ONCE, use_threads=False),
                csv.ParseOptions(delimiter=delimiter),
                csv.ConvertOptions(column_types=dict.fromkeys(names, word), include_columns=list(names)),
            )
            for batch in reader:
                yield batch, min(1.0, raw.tell() / size)
    except (pa.ArrowException, OSError, EOFError) as error:
        row = re.search(r"Row #(\d+)", str(error))
        where = f", row {int(row[1]) - 1}," if row else ""
        raise DataError(
            f"{path}{where} cannot be read: it needs UTF-8 and as many fields in each row as in the header. Mend it."
        ) from None


def _delimiter(path: Path, names: Sequence[str]) -> str:
    """Return what divides the header into the columns asked for."""
    stream = pa.input_stream(str(path), compression="gzip" if path.suffix.lower() == ".gz" else None)
    with stream:
        text = stream.read(_HEADER_BYTES).decode("utf-8-sig", errors="replace")
    header = text.splitlines()[0] if text.strip() else ""
    headers = {delimiter: next(rows.reader([header], delimiter=delimiter), []) for delimiter in ",;\t|"}
    best = max(headers, key=lambda delimiter: (set(names) <= set(headers[delimiter]), len(headers[delimiter])))
    outcomes.need(names, headers[best], path)
    return best

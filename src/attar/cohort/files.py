"""Read a CSV or Parquet file into a DataFrame, or say in one sentence why not."""

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from itertools import count
from pathlib import Path
from typing import BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from attar.errors import DataError

_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
_PARQUET = (".parquet", ".pq")
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
_ABOVE_HEADER = re.compile(r"\A(sep=.\n)?([;,|\t ]*\n)*")
"""What spreadsheets write above the header: the delimiter, or rows of empty cells."""
_SAMPLE = 20_000


def read(path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the table and what had to be assumed to read it."""
    if path.is_dir():
        raise DataError(f"{path} is a folder; a CSV or Parquet file is needed. Give the file inside it.")
    if not path.exists():
        raise DataError(f"There is no file {path}. Check the spelling and the folder you are in.")
    name = path.name.lower()
    warnings: tuple[str, ...] = ()
    if name.endswith(_PARQUET):
        frame = read_parquet(path, str(path))
    elif name.endswith(_CSV):
        frame, warnings = _read_csv(path)
    else:
        raise DataError(f"{path} is neither .csv, .csv.gz, .tsv nor .parquet. Save the table as one of these.")
    if not len(frame):
        raise DataError(f"{path} has column names but no rows. Give a table with patients in it.")
    return frame, warnings


def read_parquet(source: Path | BinaryIO, shown: str) -> pd.DataFrame:
    """Read one Parquet file; `shown` is what an error calls it."""
    try:
        with pq.ParquetFile(source) as file:
            _refuse_duplicates(file.schema_arrow.names, shown)
            frame = file.read().to_pandas()
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"{shown} is not a readable Parquet file (damaged, or another format). Write it anew."
        ) from error
    # A table written with its patient id as the index has it there now; an index without a name is row numbers.
    index = [name for name in frame.index.names if name is not None and name not in frame.columns]
    return (frame.reset_index(index) if index else frame).reset_index(drop=True)


def _read_csv(path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    whole, warnings = _decode(path)
    text = _ABOVE_HEADER.sub("", whole)
    if not text.strip():
        raise DataError(f"{path} is empty. Give a CSV file with a header line and rows.")
    delimiter = _delimiter(text, path)
    header = [name.strip() for name in _sample(text, delimiter)[0]]
    _refuse_duplicates([name for name in header if name], str(path))
    _refuse_ragged(text, delimiter, len(header), path, whole.count("\n") - text.count("\n"))
    frame = _parse(text, delimiter, ".", path)
    if delimiter != ",":
        frame = _decimal_comma(frame, text, delimiter, path)
    frame.columns = [name or _unnamed(index, header) for index, name in enumerate(header)]
    return frame, warnings


def _unnamed(index: int, header: list[str]) -> str:
    """Return a name for a column without one, as pandas makes it, but no other column's."""
    return next(name for number in count(index, len(header)) if (name := f"Unnamed: {number}") not in header)


def _decode(path: Path) -> tuple[str, tuple[str, ...]]:
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix.lower() == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read (damaged or not permitted). Write the file anew.") from error
    head = raw[:65536]
    controls = sum(head.count(code) for code in range(32) if code not in b"\t\n\r")
    if 0 in head or controls * 100 > len(head):
        raise DataError(f"{path} is not text: a CSV file in UTF-8 is needed. Save the table as CSV or Parquet.")
    for encoding in ("utf-8-sig", "cp1252", "latin-1"):
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        break
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if encoding == "utf-8-sig":
        return text, ()
    return text, (
        f"{path.name} is not UTF-8; it was read as {encoding}. Check names with accents, or save it as UTF-8.",
    )


def _sample(text: str, delimiter: str) -> list[list[str]]:
    cut = max(_SAMPLE, text.find("\n") + 1)
    rows = csv.reader(io.StringIO(text[:cut], newline=""), delimiter=delimiter)
    whole = [row for row in rows if "".join(row).strip()]
    # The cut may have gone through the last row.
    return whole if len(text) <= cut or len(whole) == 1 else whole[:-1]


def _delimiter(text: str, path: Path) -> str:
    samples = {delimiter: _sample(text, delimiter) for delimiter in _DELIMITERS}
    splits = [delimiter for delimiter, rows in samples.items() if len(rows[0]) > 1]
    if not splits:
        raise DataError(
            f"The first line of {path} holds one column only: no comma, semicolon, tab or bar divides it. "
            "Save the table as CSV with a header line."
        )
    if len(splits) > 1:
        even = [delimiter for delimiter in splits if len({len(row) for row in samples[delimiter]}) == 1]
        if len(even) != 1:
            names = " or ".join(_DELIMITERS[delimiter] for delimiter in splits)
            raise DataError(
                f"It is unclear whether {names} divides the columns of {path}. Save it with commas, "
                "column names in quotes where they contain one, or as Parquet."
            )
        splits = even
    return splits[0]


def _refuse_duplicates(names: list[str], shown: str) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        listed = ", ".join(repr(name) for name in twice[:5])
        raise DataError(f"{shown} has more than one column named {listed}. Rename or remove the doubles.")


def _refuse_ragged(text: str, delimiter: str, width: int, path: Path, above: int) -> None:
    if '"' in text:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            bad = next((rows.line_num for row in rows if len(row) != width and "".join(row).strip(" ")), None)
        except csv.Error as error:
            line = above + rows.line_num
            raise DataError(f"{path}, line {line}, cannot be read as CSV. Mend the quotes there.") from error
    else:
        lines = enumerate(text.split("\n"), start=1)
        bad = next((n for n, line in lines if line.count(delimiter) != width - 1 and line.strip(" ")), None)
    if bad is not None:
        raise DataError(
            f"{path}, line {above + bad}, does not have the {width} fields of the header line. Mend that line: "
            "a field that contains the delimiter or a line break needs double quotes around it."
        )


def _parse(text: str, delimiter: str, decimal: str, path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(io.StringIO(text), sep=delimiter, decimal=decimal, index_col=False, low_memory=False)
    except (pd.errors.ParserError, ValueError) as error:
        raise DataError(f"{path} cannot be read as CSV. Save it anew, or as Parquet.") from error


def _decimal_comma(frame: pd.DataFrame, text: str, delimiter: str, path: Path) -> pd.DataFrame:
    """Read once more with decimal commas if that turns text into numbers and no number into text."""
    found = {name: _comma_numbers(frame[name]) for name in frame.columns[frame.dtypes == "str"]}
    commas = [value for values in found.values() for value in values]
    if not commas:
        return frame
    again = _parse(text, delimiter, ",", path)
    worse = [name for name in frame if frame[name].dtype != "str" and again[name].dtype == "str"]
    if worse or all(_THOUSANDS.fullmatch(value) for value in commas):
        first = next(name for name, values in found.items() if values)
        why = f"column {worse[0]!r} has decimal points" if worse else "it may also divide thousands"
        raise DataError(
            f"It is unclear whether the comma in the numbers of column {first!r} of {path} is a decimal comma: "
            f"{why}. Save the table with decimal points and no thousands separator."
        )
    return again


def _comma_numbers(series: pd.Series) -> list[str]:
    """Return the distinct values like '36,6' of a text column that is mostly numbers."""
    values = [str(value) for value in series.dropna().unique()]
    commas = [value for value in values if _COMMA_NUMBER.fullmatch(value) or _THOUSANDS.fullmatch(value)]
    whole = sum(value.lstrip("+-").isdigit() for value in values)
    return commas if 2 * (len(commas) + whole) > len(values) else []

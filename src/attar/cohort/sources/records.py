"""Many small text files with one header, a file a stay, parsed some hundred at once; a bad line is still named."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from attar.cohort.sources import outcomes
from attar.errors import DataError
from attar.progress import Watch

_FILES_AT_ONCE = 250


class Gulp(NamedTuple):
    """Some files as one table; `start` is the position of the first, `lengths` how many rows each has."""

    files: Sequence[Path]
    start: int
    lengths: NDArray[np.int64]
    table: pa.Table

    @property
    def stay(self) -> NDArray[np.int64]:
        """The position of the file of each row."""
        return np.repeat(self.start + np.arange(len(self.files)), self.lengths)

    def line(self, row: int) -> str:
        """Return file and line of a row of the table, in words."""
        file = int(np.searchsorted(np.cumsum(self.lengths), row, side="right"))
        return f"{self.files[file]}, line {row - int(self.lengths[:file].sum()) + 2}"


def gulps(files: Sequence[Path], columns: Mapping[str, pa.DataType], delimiter: str, watch: Watch) -> Iterator[Gulp]:
    """Yield the files in their order, with the columns as named, typed and ordered in `columns`."""
    watch.stage("reading", len(files))
    for start in range(0, len(files), _FILES_AT_ONCE):
        some = files[start : start + _FILES_AT_ONCE]
        bodies = [_body(file, list(columns), delimiter) for file in some]
        try:
            table = _parse(b"".join(bodies), columns, delimiter)
        except pa.ArrowInvalid:
            raise _malformed(some, bodies, columns, delimiter) from None
        yield Gulp(some, start, np.array([body.count(b"\n") for body in bodies]), table)
        watch.update(start + len(some))


def _body(file: Path, names: list[str], delimiter: str) -> bytes:
    """Return the lines of a file below its header, each ended."""
    try:
        header, _, body = file.read_bytes().replace(b"\r\n", b"\n").partition(b"\n")
    except OSError:
        raise DataError(f"{file} cannot be read (damaged or not permitted). Unpack it anew.") from None
    found = header.decode("utf-8-sig", errors="replace").split(delimiter)
    if found != names:
        outcomes.need(names, found, file)
        raise DataError(f"{file} has its columns in another order, or more of them, than is usual. Unpack it anew.")
    if not body:
        raise DataError(f"{file} has column names but no rows. Unpack it anew, or take it out of the folder.")
    return body if body.endswith(b"\n") else body + b"\n"


def _parse(text: bytes, columns: Mapping[str, pa.DataType], delimiter: str) -> pa.Table:
    return csv.read_csv(
        pa.BufferReader(text),
        csv.ReadOptions(column_names=list(columns), block_size=len(text), use_threads=False),
        csv.ParseOptions(delimiter=delimiter, quote_char=False, ignore_empty_lines=False),
        csv.ConvertOptions(column_types=columns),
    )


def _malformed(
    files: Sequence[Path], bodies: list[bytes], columns: Mapping[str, pa.DataType], delimiter: str
) -> DataError:
    """Return what to say of the first line that cannot be parsed."""
    for file, body in zip(files, bodies, strict=True):
        for number, line in enumerate(body.split(b"\n")[:-1], start=2):
            try:
                _parse(line + b"\n", columns, delimiter)
            except pa.ArrowInvalid:
                return DataError(
                    f"{file}, line {number}, cannot be read: it needs {len(columns)} fields, with numbers where "
                    "numbers belong. Mend that line."
                )
    return DataError(f"The files from {files[0]} to {files[-1]} cannot be read as text. Unpack them anew.")

"""The two layouts of the PhysioNet Challenge 2012: a text file for each record, or one long Parquet table."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from attar.cohort.sources import long, outcomes, records
from attar.errors import DataError, nearest
from attar.progress import Watch

ID, SET = "RecordID", "set"
LONG, STAYS = "observations_long.parquet", "stays.parquet"
_WORD = pa.dictionary(pa.int32(), pa.string())
_COLUMNS = {"Time": _WORD, "Parameter": _WORD, "Value": pa.float64()}
_TIME = re.compile(r"(\d{1,3}):([0-5]\d)")


class Stays(NamedTuple):
    """Records to read: id, set and, of the text layout, file of each; `elsewhere` are keys of the sets left alone."""

    ids: NDArray[np.int64]
    sets: NDArray[np.str_]
    files: list[Path]
    elsewhere: Collection[str]


class Rows(NamedTuple):
    """Rows of whole stays: position of the stay, minutes since admission, code of the parameter or -1, value."""

    stay: NDArray[np.int64]
    minutes: NDArray[np.float64]
    code: NDArray[np.int64]
    value: NDArray[np.float64]


def text_stays(path: Path, only: tuple[str, ...]) -> Stays:
    """Find the records of the sets `only`, or of all, in folders set-a, set-b, ..."""
    folders = {folder.name.removeprefix("set-"): folder for folder in path.glob("set-[a-z]") if folder.is_dir()}
    if not folders:
        raise DataError(
            f"{path} holds neither set-a, set-b or set-c with a text file for each record, nor {LONG}. Give the "
            "folder in which the sets of the Challenge were unpacked."
        )
    chosen = _chosen(only, folders, path)
    found = {name: [file for file in folders[name].glob("*.txt") if file.stem.isdecimal()] for name in folders}
    for name in chosen:
        if not found[name]:
            raise DataError(f"{folders[name]} holds no file such as 132539.txt. Unpack the set into it.")
    files = [file for name in chosen for file in sorted(found[name], key=lambda file: int(file.stem))]
    sets = [file.parent.name.removeprefix("set-") for file in files]
    others = {str(int(file.stem)) for name in set(folders) - set(chosen) for file in found[name]}
    return Stays(np.array([int(file.stem) for file in files]), np.array(sets), files, others)


def parquet_stays(path: Path, only: tuple[str, ...]) -> Stays:
    """Find the records of the sets `only`, or of all, in stays.parquet."""
    table, _ = outcomes.read(path / STAYS, ID)
    outcomes.need([SET], table.columns, path / STAYS)
    strange = [key for key in table.index if not key.isdecimal()]
    if strange:
        raise DataError(f"{path / STAYS} has {len(strange)} rows whose {ID} is not a whole number. Mend them.")
    table.index = table.index.astype(np.int64)
    taken = table[SET].isin(_chosen(only, table[SET].unique(), path / STAYS))
    sets = table[SET][taken].sort_index()
    return Stays(sets.index.to_numpy(), sets.to_numpy(np.str_), [], set(table.index[~taken].astype(str)))


def text_rows(files: list[Path], codes: Mapping[str, int], strange: Counter[str], watch: Watch) -> Iterator[Rows]:
    """Yield the rows of some records after the other; parameters without a code are counted in `strange`."""
    for gulp in records.gulps(files, _COLUMNS, ",", watch):
        times, at = _distinct(gulp.table.column("Time").combine_chunks())
        minutes = np.array([_minutes(time) for time in times])[at]
        wrong = np.isnan(minutes)
        if wrong.any():
            raise DataError(f"{gulp.line(int(wrong.argmax()))}, has no time such as 07:30. Mend that line.")
        code = _code(gulp.table.column("Parameter").combine_chunks(), codes, strange)
        value = gulp.table.column("Value").to_numpy()
        first = np.cumsum(gulp.lengths) - gulp.lengths
        stated = np.where(code[first] == codes[ID], value[first], np.nan)
        other = stated != [int(file.stem) for file in gulp.files]
        if other.any():
            raise DataError(
                f"{gulp.line(int(first[other.argmax()]))}, does not give the {ID} of the file's name, as the first "
                "line of a record does. Unpack the set anew."
            )
        yield Rows(gulp.stay, minutes, code, value)


def parquet_rows(
    path: Path, stays: Stays, codes: Mapping[str, int], strange: Counter[str], watch: Watch
) -> Iterator[Rows]:
    """Yield rows of whole stays; those of the last stay of a batch wait for the next."""
    known = np.array([*stays.ids, *(int(key) for key in stays.elsewhere)])
    seen, last, done = np.zeros(len(stays.ids), bool), -1, 0
    rest = Rows(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64), np.zeros(0))
    watch.stage("reading", 100)
    for batch, share in long.parquet_batches(path, (ID, "minutes", "Parameter", "Value"), (ID, "minutes")):
        ids = _numbers(batch.column(ID)).astype(np.int64)
        falls = np.flatnonzero(np.diff(ids, prepend=last) < 0)
        if len(falls):
            raise DataError(f"{path}, row {done + falls[0] + 1}: {ID} is not ascending. Sort the table by it.")
        strangers = np.setdiff1d(ids, known)
        if len(strangers):
            raise DataError(f"{path} has records that {STAYS} lacks, the first: {outcomes.listed(strangers)}.")
        stay = np.minimum(np.searchsorted(stays.ids, ids), len(stays.ids) - 1)
        here = stays.ids[stay] == ids
        mine = batch.filter(pa.array(here))
        code = _code(mine.column("Parameter"), codes, strange)
        found = Rows(stay[here], _numbers(mine.column("minutes")), code, _numbers(mine.column("Value")))
        rest = Rows(*(np.concatenate(parts) for parts in zip(rest, found, strict=True)))
        seen[rest.stay] = True
        whole = rest.stay < rest.stay.max(initial=0)
        yield Rows(*(part[whole] for part in rest))
        rest = Rows(*(part[~whole] for part in rest))
        last, done = int(ids[-1]), done + len(ids)
        watch.update(round(100 * share))
    if not seen.all():
        raise DataError(f"{path} has no rows of {(~seen).sum()} stays, the first: {outcomes.listed(stays.ids[~seen])}.")
    yield rest


def _chosen(only: tuple[str, ...], found: Collection[str], path: Path) -> list[str]:
    for name in only:
        if name not in found:
            raise DataError(f"{path} has no set {name!r}.{nearest(name, sorted(found))}")
    return sorted(set(only or found))


def _minutes(time: str) -> float:
    match = _TIME.fullmatch(time)
    return 60.0 * int(match[1]) + int(match[2]) if match else np.nan


def _numbers(column: pa.Array) -> NDArray[np.float64]:
    return column.to_numpy(zero_copy_only=False).astype(np.float64)


def _distinct(column: pa.Array) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct texts of a column, the last for rows without one, and which of them each row has."""
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    texts = coded.dictionary.to_pylist()
    return [*texts, ""], coded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False).astype(np.int64)


def _code(column: pa.Array, codes: Mapping[str, int], strange: Counter[str]) -> NDArray[np.int64]:
    names, at = _distinct(column)
    rows = np.bincount(at, minlength=len(names))
    strange.update({name: int(count) for name, count in zip(names, rows, strict=True) if count and name not in codes})
    return np.array([codes.get(name, -1) for name in names])[at]

"""Any series: a long table of patient, time, variable and value, and a table of outcomes with a row a patient."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attar.cohort.grid import Gridded, grid
from attar.cohort.prepared import Prepared
from attar.cohort.schema import Channel, Kind
from attar.cohort.sources import long, outcomes
from attar.cohort.sources.options import Options
from attar.errors import DataError, RecipeError, nearest
from attar.progress import Watch

_MOST_CATEGORIES = 50
_MOSTLY_NUMBERS = 0.95
_ROWS_AT_ONCE = 2_000_000
Chunks = Callable[..., Iterator[long.Chunk]]
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


@dataclass
class _Variable:
    """What the values of one variable are; the sets stop growing once there are too many to matter."""

    numbers: int = 0
    texts: int = 0
    first_text: int = 0
    whole: bool = True
    distinct: set[float] = field(default_factory=set)
    words: set[str] = field(default_factory=set)


@dataclass
class _Seen:
    """What the first pass found.

    `patients` has a row for each with an outcome: how many rows, in which first and last chunk, and the time that is
    its hour 0.
    """

    patients: pd.DataFrame
    variables: dict[str, _Variable]
    strangers: dict[str, None]
    empty: int


def read(path: Path, options: Options, watch: Watch) -> list[Prepared]:
    """Read a long table twice, first to see what is in it; oftener only if it is large and patients are scattered."""
    if path.is_dir():
        raise DataError(f"{path} is a folder; a CSV or Parquet file is needed. Give the file inside it.")
    table, notes = _outcomes(options)
    labelled = table[list(options.target)].notna().all(axis=1)
    unlabelled, table = table.index[~labelled], table[labelled]

    def chunks(before: int = 0) -> Iterator[long.Chunk]:
        for chunk in long.chunks(path, options.patient, options.time, options.variable, options.value):
            yield chunk
            watch.update(before + round(100 * chunk.share))

    watch.stage("looking through", 100)
    seen = _look(chunks, table.index)
    channels = _channels(seen.variables, options.sums, path)
    measured = (seen.patients["rows"] > 0).to_numpy()
    bare, table = table.index[~measured], table[measured]
    values = np.full((len(table), options.hours, len(channels)), np.nan, np.float32)
    gridded = _fill(values, chunks, seen.patients[measured], channels, watch)

    empty = np.isnan(values).all(axis=(1, 2))
    idle = np.array([np.isnan(values[:, :, column]).all() for column in range(len(channels))], bool)
    if empty.all():
        raise DataError(
            f"No patient of {options.outcomes} has a measurement in the first {options.hours} hours of {path}. Check "
            f"that {options.patient!r} means the same in both, and that times are in hours."
        )
    within = f"in the first {options.hours} hours"
    left = {
        f"patients without a measurement {within}": [*bare, *table.index[empty]],
        "patients without an outcome": list(dict.fromkeys([*unlabelled, *seen.strangers])),
        f"variables never measured {within}": [c.name for c, unused in zip(channels, idle, strict=True) if unused],
    }
    notes += tuple(
        f"{len(names)} {what} were left out, the first: {names[0]}." for what, names in left.items() if names
    )
    dropped = {what: len(names) for what, names in left.items()} | {
        "rows without a value": seen.empty,
        "values before the first hour or after the last": gridded.outside,
        "values given twice for one time": gridded.doubled,
    }
    return [
        Prepared(
            name=path.name.partition(".")[0],
            title=f"{path.name}, the first {options.hours} hours",
            patients=table[~empty].reset_index(drop=True),
            targets=options.target,
            id=options.patient,
            values=values[np.ix_(~empty, np.ones(options.hours, bool), ~idle)] if empty.any() or idle.any() else values,
            channels=tuple(channel for channel, unused in zip(channels, idle, strict=True) if not unused),
            kept={"patients": int((~empty).sum()), "values": gridded.used},
            dropped={what: count for what, count in dropped.items() if count},
            notes=notes,
        )
    ]


def _outcomes(options: Options) -> tuple[pd.DataFrame, tuple[str, ...]]:
    if options.hours < 1:
        raise RecipeError(f"--hours {options.hours} leaves no hour. Give 1 or more.")
    if options.outcomes is None or not options.target:
        raise RecipeError(
            "A series needs its outcomes: --outcomes FILE, a table with a row a patient, and --target COLUMN, the "
            "column in it to be predicted."
        )
    table, notes = outcomes.read(options.outcomes, options.patient)
    outcomes.need(options.target, table.columns, options.outcomes)
    if options.patient in options.target:
        raise RecipeError(f"{options.patient!r} is named both as --patient and as --target. Name another --target.")
    return table, notes


def _look(chunks: Chunks, patients: pd.Index) -> _Seen:
    """Count the rows of each patient, find the earliest if times are dates, and see what the variables hold."""
    rows, first, last = (np.zeros(len(patients), np.int64) for _ in range(3))
    start, earliest = np.zeros(len(patients)), np.full(len(patients), np.inf)
    seen = _Seen(pd.DataFrame(), {}, {}, 0)
    for number, chunk in enumerate(chunks()):
        stay = patients.get_indexer(chunk.patient.distinct)
        seen.strangers |= dict.fromkeys(chunk.patient.distinct[stay < 0])
        stay = stay[chunk.patient.at]
        known = stay >= 0
        last[stay[known]] = number
        first = np.where(rows, first, last)
        rows += np.bincount(stay[known], minlength=len(patients))
        if chunk.dated:
            np.minimum.at(earliest, stay[known], chunk.time[known])
            start = earliest
        seen.empty += int((known & (chunk.value.at < 0)).sum())
        _describe(seen.variables, chunk, known & (chunk.value.at >= 0))
    seen.patients = pd.DataFrame({"rows": rows, "first": first, "last": last, "start": start}, index=patients)
    return seen


def _describe(variables: dict[str, _Variable], chunk: long.Chunk, used: NDArray[np.bool_]) -> None:
    rows = np.flatnonzero(used)
    rows = rows[np.argsort(chunk.variable.at[rows], kind="stable")]
    ends = np.flatnonzero(np.diff(chunk.variable.at[rows])) + 1
    for group in np.split(rows, ends) if len(rows) else ():
        variable = variables.setdefault(chunk.variable.distinct.iloc[chunk.variable.at[group[0]]], _Variable())
        text = np.isnan(chunk.number[chunk.value.at[group]])
        codes = np.unique(chunk.value.at[group])
        numbers = chunk.number[codes][~np.isnan(chunk.number[codes])]
        if text.any() and not variable.texts:
            variable.first_text = chunk.first + int(group[text.argmax()])
        variable.texts += int(text.sum())
        variable.numbers += len(group) - int(text.sum())
        variable.whole &= bool((numbers == np.floor(numbers)).all())
        if len(variable.distinct) <= 2:
            variable.distinct.update(np.unique(numbers)[:3].tolist())
        if len(variable.words) <= _MOST_CATEGORIES:
            variable.words.update(chunk.value.distinct.iloc[codes[: _MOST_CATEGORIES + 1]].astype(str))


def _channels(variables: Mapping[str, _Variable], sums: Sequence[str], path: Path) -> tuple[Channel, ...]:
    for name in sums:
        if name not in variables:
            raise DataError(f"{path} has no variable {name!r}, named in --sums.{nearest(name, variables)}")
    return tuple(_channel(name, variables[name], name in sums, path) for name in sorted(variables))


def _channel(name: str, seen: _Variable, summed: bool, path: Path) -> Channel:
    if not seen.texts:
        kind: Kind = "integer" if seen.whole else "numeric"
        if len(seen.distinct) == 2 and not summed:
            kind = "binary"
        return Channel(name=name, kind=kind, rule="sum" if summed else "last")
    share = seen.numbers / (seen.numbers + seen.texts)
    wrong = ""
    if any(_DECIMAL_COMMA.fullmatch(word) for word in seen.words):
        wrong = "has decimal commas. Write numbers with points"
    elif share >= _MOSTLY_NUMBERS:
        wrong = f"holds numbers but for {seen.texts} rows. Mend or remove these"
    elif summed:
        wrong = "holds text, which cannot be added up. Leave it out of --sums, or mend the text"
    elif len(seen.words) > _MOST_CATEGORIES:
        wrong = f"holds text of more than {_MOST_CATEGORIES} kinds. Group them, or leave its rows out"
    if wrong:
        raise DataError(f"{path}, row {seen.first_text}: the variable {name!r} {wrong}.")
    return Channel(name=name, kind="categorical", values=tuple(sorted(seen.words)))


def _fill(
    values: NDArray[np.float32], chunks: Chunks, patients: pd.DataFrame, channels: tuple[Channel, ...], watch: Watch
) -> Gridded:
    """Put patients on the grid, each when its last row was read; the scattered in turns of a few million rows."""
    total: Counter[str] = Counter()
    names = pd.Index([channel.name for channel in channels])
    rows, first, last, start = (patients[name].to_numpy() for name in ("rows", "first", "last", "start"))
    scattered = last - first > 1
    turn = np.where(scattered, 1 + np.cumsum(rows * scattered) // _ROWS_AT_ONCE, 0)
    turns = np.unique(turn)
    watch.stage("reading", 100 * len(turns))
    for before, this in enumerate(turns):
        held = pd.DataFrame()
        for number, chunk in enumerate(chunks(100 * before)):
            stay = patients.index.get_indexer(chunk.patient.distinct)[chunk.patient.at]
            mine = (stay >= 0) & (chunk.value.at >= 0)
            mine[mine] = turn[stay[mine]] == this
            stay, time = stay[mine], chunk.time[mine] - start[stay[mine]]
            channel = names.get_indexer(chunk.variable.distinct)[chunk.variable.at[mine]]
            value = _values(chunk, mine, channel, channels)
            new = {"stay": stay.astype(np.int32), "time": time, "channel": channel.astype(np.int32), "value": value}
            held = pd.concat([held, pd.DataFrame(new)], ignore_index=True)
            done = last[held["stay"]] <= number
            ready, held = held[done], held[~done]
            counts = grid(values, ready["stay"], ready["time"], ready["channel"], ready["value"], channels)
            total.update(counts._asdict())
    return Gridded(total["used"], total["outside"], total["doubled"])


def _values(
    chunk: long.Chunk, mine: NDArray[np.bool_], channel: NDArray[np.int64], channels: tuple[Channel, ...]
) -> NDArray[np.float32]:
    """Return the rows' numbers, or the position of their text among the categories."""
    at = chunk.value.at[mine]
    found = chunk.number[at].astype(np.float32)
    texts = chunk.value.distinct.astype(str)
    for position, described in enumerate(channels):
        if described.values:
            here = channel == position
            found[here] = pd.Index(described.values).get_indexer(texts)[at[here]]
    return found

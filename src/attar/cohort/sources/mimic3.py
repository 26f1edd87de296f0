"""MIMIC-III as mimic3-benchmarks writes it: train and test in a task's folder, each with a listfile and a file a stay.

Rows are counted as lines of the file; the header is row 1.
"""

import csv
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attar.cohort.grid import EDGE, grid
from attar.cohort.prepared import Prepared
from attar.cohort.sources.mimic3_channels import CHANNELS, PHENOTYPES, SPELLINGS
from attar.cohort.sources.options import Options
from attar.errors import DataError, RecipeError, nearest
from attar.progress import Watch

PARTS = ("train", "test")
PERIOD = 48
"""Hours that the files of in-hospital mortality hold."""

_HEADER = ("Hours", *(channel.name for channel in CHANNELS))
_POSITIONS = {
    name: {text: place for place, texts in enumerate(values.values()) for text in texts}
    for name, values in SPELLINGS.items()
}
_NOT_MEASURED = frozenset(("", "nan", "NaN"))
_FILE = re.compile(r"([0-9]{1,18})_episode[0-9]+_timeseries\.csv")
_LARGEST = float(np.finfo(np.float32).max)


def read_mortality(path: Path, options: Options, watch: Watch) -> list[Prepared]:
    """Read data/in-hospital-mortality: the first 48 hours of stays at least that long, and death in hospital."""
    if options.hours > PERIOD:
        raise RecipeError(f"The files of in-hospital mortality end at hour {PERIOD}. Give --hours {PERIOD} or fewer.")
    names = ("mimic3-mortality", "MIMIC-III benchmark, in-hospital mortality")
    return [_read(path, options, watch, names, ("stay", "y_true"), ("in_hospital_mortality",))]


def read_phenotyping(path: Path, options: Options, watch: Watch) -> list[Prepared]:
    """Read data/phenotyping: 25 diagnoses, and of stays that last long enough the first hours only, as in the paper."""
    names = ("mimic3-phenotyping", "MIMIC-III benchmark, 25 diagnoses of a stay")
    return [_read(path, options, watch, names, ("stay", "period_length", *PHENOTYPES), PHENOTYPES)]


class _Stay(NamedTuple):
    """One row of a listfile, and how it is shown."""

    part: str
    row: int
    file: str
    subject: int
    period: float
    labels: tuple[int, ...]

    def __str__(self) -> str:
        return f"row {self.row} of {self.part}/listfile.csv: {self.file}"


class _LeftOut:
    """How many of each kind were left out, and where the first was."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.first: dict[str, str] = {}

    def add(self, what: str, where: object, count: int = 1) -> None:
        if count:
            self.counts[what] += count
            self.first.setdefault(what, str(where))

    def notes(self) -> tuple[str, ...]:
        return tuple(f"Left out: {what} ({n}), the first in {self.first[what]}." for what, n in self.counts.items())


def _read(
    path: Path, options: Options, watch: Watch, names: tuple[str, str], columns: Sequence[str], targets: Sequence[str]
) -> Prepared:
    listed = [stay for part in _parts(options.only) for stay in _listed(path, part, columns)]
    _refuse_doubles(listed, path)
    left, long = _LeftOut(), []
    for stay in listed:
        if stay.period < options.hours - EDGE:
            left.add(f"stays shorter than {options.hours} hours", stay)
        else:
            long.append(stay)
    kept, values, measurements = _series(path, long, options.hours, watch, left)
    if not kept:
        raise DataError(
            f"{path} lists no stay with a measurement in the first {options.hours} hours that lasts as long. Check "
            "that it is the task folder that mimic3-benchmarks wrote, or give fewer --hours."
        )
    patients = pd.DataFrame(
        {
            "stay": [stay.file.removesuffix("_timeseries.csv") for stay in kept],
            "subject": [stay.subject for stay in kept],
            "part": [stay.part for stay in kept],
            **{target: [stay.labels[place] for stay in kept] for place, target in enumerate(targets)},
        }
    )
    return Prepared(
        name=names[0],
        title=names[1],
        patients=patients,
        targets=tuple(targets),
        id="subject",
        groups=("stay", "part"),
        values=values,
        channels=CHANNELS,
        kept={"stays": len(kept), "patients": patients["subject"].nunique(), "measurements": measurements},
        dropped=dict(left.counts),
        notes=left.notes(),
    )


def _parts(only: Sequence[str]) -> tuple[str, ...]:
    for name in only:
        if name not in PARTS:
            raise RecipeError(f"The MIMIC-III benchmark has no part {name!r}.{nearest(name, PARTS)}")
    return tuple(part for part in PARTS if part in (only or PARTS))


def _listed(path: Path, part: str, columns: Sequence[str]) -> list[_Stay]:
    """Read a listfile and see that every file is there."""
    listfile = path / part / "listfile.csv"
    if not listfile.is_file():
        raise DataError(
            f"There is no file {listfile}. Give the task folder that mimic3-benchmarks wrote, which holds train and "
            "test with a listfile.csv each, or name the part that is there with --only."
        )
    stays = [_stay(listfile, row, dict(zip(columns, cells, strict=True))) for row, cells in _rows(listfile, columns)]
    there = set(os.listdir(listfile.parent))
    missing = [stay for stay in stays if stay.file not in there]
    if missing:
        shown = ", ".join(stay.file for stay in missing[:3])
        raise DataError(
            f"{listfile}, row {missing[0].row}: {len(missing)} of {len(stays)} listed stays have no file beside the "
            f"listfile ({shown}{', ...' if len(missing) > 3 else ''}). Copy the files there, or write the task anew."
        )
    return stays


def _stay(listfile: Path, row: int, cells: dict[str, str]) -> _Stay:
    file = cells.pop("stay")
    named = _FILE.fullmatch(file)
    if not named:
        raise DataError(
            f"{listfile}, row {row}: the stay is not named like 10017_episode1_timeseries.csv. Write the task anew."
        )
    period = _value(listfile, row, "period_length", cells.pop("period_length", str(PERIOD)))
    for name, label in cells.items():
        if label not in ("0", "1"):
            raise DataError(f"{listfile}, row {row}: the label {name!r} is neither 0 nor 1. Mend that row.")
    return _Stay(listfile.parent.name, row, file, int(named[1]), period, tuple(map(int, cells.values())))


def _refuse_doubles(stays: Sequence[_Stay], path: Path) -> None:
    seen: dict[str, _Stay] = {}
    for stay in stays:
        if stay.file in seen:
            raise DataError(
                f"{path / stay.part / 'listfile.csv'}, row {stay.row}, lists a stay that is listed before, in "
                f"{seen[stay.file]}. Remove one of the two rows."
            )
        seen[stay.file] = stay


def _series(
    path: Path, stays: Sequence[_Stay], hours: int, watch: Watch, left: _LeftOut
) -> tuple[list[_Stay], NDArray[np.float32], int]:
    """Put the files of the stays on the grid, one after another; return the stays that had anything to put there."""
    values = np.full((len(stays), hours, len(CHANNELS)), np.nan, np.float32)
    kept: list[_Stay] = []
    measurements = 0
    watch.stage("reading", len(stays))
    for done, stay in enumerate(stays, start=1):
        times, channels, found = _measurements(path / stay.part / stay.file)
        place = np.full(len(found), len(kept))
        used, outside, doubled = grid(values, place, times, channels, found, CHANNELS)
        left.add(f"measurements outside the first {hours} hours", f"{stay.part}/{stay.file}", outside)
        left.add("measurements that a later row of the same time repeats", f"{stay.part}/{stay.file}", doubled)
        if used:
            kept.append(stay)
        else:
            left.add(f"stays without any measurement in the first {hours} hours", stay)
        measurements += used
        watch.update(done)
    return kept, values[: len(kept)], measurements


def _measurements(path: Path) -> tuple[list[float], list[int], list[float]]:
    """Return time, channel and value of every filled cell of a stay's file; a category is its position."""
    times: list[float] = []
    channels: list[int] = []
    found: list[float] = []
    before = -_LARGEST
    for row, cells in _rows(path, _HEADER):
        time = _value(path, row, "Hours", cells[0])
        if time <= before - EDGE:
            raise DataError(f"{path}, row {row}: Hours is smaller than in the row before. Sort the rows by Hours.")
        before = time
        for channel, text in enumerate(cells[1:]):
            if text not in _NOT_MEASURED:
                times.append(time)
                channels.append(channel)
                found.append(_value(path, row, CHANNELS[channel].name, text))
    return times, channels, found


def _value(path: Path, row: int, name: str, text: str) -> float:
    """Read a number that the grid can hold, or the position of a category."""
    if name in _POSITIONS:
        if text not in _POSITIONS[name]:
            known = nearest(text, _POSITIONS[name])
            raise DataError(f"{path}, row {row}: {text!r} is no {name} that mimic3-benchmarks knows.{known}")
        return _POSITIONS[name][text]
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not abs(value) <= _LARGEST:
        raise DataError(f"{path}, row {row}: {name} is not a number. Mend that row.")
    return value


def _rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Give the rows of a CSV file and their numbers, cells in the order of `columns`."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file)
            header = next(rows, [])
            _refuse_header(path, header, columns)
            order = [header.index(name) for name in columns]
            for cells in rows:
                if len(cells) == len(columns):
                    yield rows.line_num, [cells[place] for place in order]
                elif cells:
                    raise DataError(
                        f"{path}, row {rows.line_num}, has {len(cells)} fields, not the {len(columns)} of the header. "
                        "Write the file anew."
                    )
    except (OSError, UnicodeDecodeError, csv.Error):
        raise DataError(f"{path} cannot be read (damaged, not text or not permitted). Write the file anew.") from None


def _refuse_header(path: Path, header: Sequence[str], columns: Sequence[str]) -> None:
    missing = [repr(name) for name in columns if name not in header]
    if missing or len(header) > len(columns):
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        wrong = (
            f"no column {', '.join(missing[:5])}{more}" if missing else f"more than the {len(columns)} columns it needs"
        )
        raise DataError(
            f"{path} has {wrong}. Check that it is of the right task and that its first line is the header."
        )

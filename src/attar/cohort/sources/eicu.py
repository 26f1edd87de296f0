"""FIDDLE's features of eICU: sparse 0/1 arrays of one task, static s [N, d] and hourly X [N, L, D], made a table."""

import csv
import json
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attar.cohort.files import read as read_file
from attar.cohort.prepared import Prepared
from attar.cohort.sources.options import Options
from attar.errors import DataError, RecipeError, nearest
from attar.progress import Watch

RULES = ("any", "mean", "last")
ENTRIES_AT_ONCE = 2_000_000
_SUFFIX = re.compile(r"_(?:value|min|max|mean|mask|delta_time)(?=$|[_:<>=])")


def read(path: Path, options: Options, watch: Watch) -> list[Prepared]:
    """Read one task: a row a stay, its static features and those over time collapsed to one value each."""
    if options.collapse not in RULES:
        raise RecipeError(f"There is no rule {options.collapse!r} over time.{nearest(options.collapse, RULES)}")
    folder, labels = _locate(path, options.task)
    stays, target, notes = _population(labels, folder.name)
    files = [_Coo.open(folder / "X.npz", 3)]
    static = next((folder / name for name in ("s.npz", "S.npz") if (folder / name).is_file()), None)
    if static is None:
        notes.append(f"There is no s.npz in {folder}; the table has no static features.")
    else:
        files.insert(0, _Coo.open(static, 2))
    for file in files:
        if file.shape[0] != len(stays):
            raise DataError(
                f"{labels} has {len(stays)} rows, but {file.path} holds {file.shape[0]} stays: they do not belong "
                "together. Give the label file that the features were made for."
            )
    names = [_names(file) for file in files]
    chosen = _choose(options.features, names)
    rows, dropped, unknown = _keep(stays["ID"], options.ids, labels)
    tables = []
    for file, known, columns in zip(files, names, chosen, strict=True):
        rule = options.collapse if len(file.shape) == 3 else "last"
        values = _collapse(file, rows, columns, rule, watch)
        tables.append(pd.DataFrame(values.T, columns=[known[column] for column in columns]))
    groups = ["partition"] if "partition" in stays else []
    _drop_doubles(tables, ["ID", target, *groups], folder)
    stays = stays.iloc[rows].reset_index(drop=True)
    patients = pd.concat([stays[["ID"]], *tables, stays[[target, *groups]]], axis=1)
    return [
        Prepared(
            name=f"eicu-{folder.name}",
            patients=patients,
            targets=(target,),
            id="ID",
            groups=tuple(groups),
            title=f"eICU, {folder.name}, features made by FIDDLE",
            kept={"stays": len(stays), "features": sum(len(table.columns) for table in tables)},
            dropped=dropped,
            notes=(*notes, *unknown),
        )
    ]


def _locate(path: Path, task: str) -> tuple[Path, Path]:
    """Return the task's folder of features and its label file."""
    folder = Path(os.path.abspath(path))
    if (path / "features").is_dir():
        folder = path / "features" / task
        tasks = sorted(found.name for found in folder.parent.iterdir() if found.is_dir())
        if task not in tasks:
            there = ", ".join(tasks) or "no task at all"
            raise DataError(f"There is no task {task!r} in {folder.parent}: it holds {there}. Say one with --task.")
    if not (folder / "X.npz").is_file():
        raise DataError(f"There is no X.npz in {folder}. Give the folder FIDDLE_eicu, or a task's folder in features/.")
    if task not in (folder.name, Options().task):
        raise RecipeError(f"{path} is the folder of one task, but --task says {task!r}. Leave --task out.")
    labels = folder.parent.parent / "population" / f"{folder.name}.csv"
    if not labels.is_file():
        raise DataError(f"There is no {labels}, which says the outcome of each stay. Put it there.")
    return folder, labels


def _population(path: Path, task: str) -> tuple[pd.DataFrame, str, list[str]]:
    """Return ids, outcomes and partition, the outcome's column, and what is to be said about them."""
    table, warnings = read_file(path)
    usual = (f"{task}_LABEL", f"{task.rpartition('_')[0]}_LABEL", "y_true", "LABEL")
    target = next((name for name in usual if name in table), None)
    if target is None or "ID" not in table:
        raise DataError(f"{path} needs a column ID and one of {', '.join(usual)}. It has {', '.join(table)}.")
    wrong = {
        f"Column {target} of {path} is not 0 or 1": ~pd.to_numeric(table[target], errors="coerce").isin([0, 1]),
        f"Column ID of {path} is empty": table["ID"].isna(),
        f"Column ID of {path} names a stay for the second time": table["ID"].duplicated(),
    }
    for what, where in wrong.items():
        if where.any():
            raise DataError(f"{what} in {where.sum()} row(s), first in data row {where.argmax() + 1}. Mend it.")
    notes = list(warnings)
    if not table["ID"].is_monotonic_increasing:
        notes.append(f"The ids of {path} do not ascend, as FIDDLE's do. Check that its rows are in the order of X.")
    table[target] = pd.to_numeric(table[target]).astype("int8")
    return table, target, notes


def _keep(ids: pd.Series, path: Path | None, labels: Path) -> tuple[NDArray[np.intp], dict[str, int], list[str]]:
    """Return which stays a file of ids names (without a file, all), what was left out, and a note."""
    if path is None:
        return np.arange(len(ids)), {}, []
    try:
        cells = [[cell.strip() for cell in line] for line in csv.reader(path.read_text("utf-8-sig").splitlines())]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as a text file of ids. Write one id a line.") from error
    header = [cell.upper() for cell in cells[0]] if cells else []
    if "ID" not in header and len(header) > 1:
        raise DataError(f"{path} has several columns and none is named ID. Write one id a line.")
    at = header.index("ID") if "ID" in header else 0
    wanted = pd.Index([row[at] for row in cells["ID" in header :] if len(row) > at and row[at]], dtype="str").unique()
    known = ids.astype("str")
    rows, unknown = np.flatnonzero(known.isin(wanted)), wanted[~wanted.isin(known)]
    if not len(rows):
        raise DataError(f"{path} names no stay of {labels}. Write one id of its column ID a line.")
    counts = {f"stays not named in {path.name}": len(ids) - len(rows), f"unknown ids in {path.name}": len(unknown)}
    notes = [f"{len(unknown)} id(s) of {path} are not in {labels}, the first is {unknown[0]}."] if len(unknown) else []
    return rows, {what: count for what, count in counts.items() if count}, notes


def _names(file: "_Coo") -> list[str]:
    """Return the names of an array's features."""
    path = file.path.with_name(f"{file.path.stem}.feature_names.json")
    try:
        names = json.loads(path.read_bytes())
    except (OSError, ValueError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DataError(f"{path}, which names the features of {file.path}, is missing or no JSON list of names.")
    if len(names) != file.shape[-1]:
        raise DataError(f"{path} names {len(names)} features, but {file.path} has {file.shape[-1]}. Download both.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{path} names {twice!r} more than once. Rename or download it again.")
    return names


def _choose(wanted: str | None, names: Sequence[Sequence[str]]) -> list[list[int]]:
    """Return the positions of the wanted features in each list of names."""
    if wanted is None:
        return [list(range(len(known))) for known in names]
    if os.path.isfile(wanted):
        listed = _listed(Path(wanted), {name for known in names for name in known})
        chosen = [[at for at, name in enumerate(known) if listed & _ways(name)] for known in names]
    else:
        try:
            pattern = re.compile(wanted)
        except re.error as error:
            raise RecipeError(f"--features {wanted!r} is no file and no regular expression: {error}.") from None
        chosen = [[at for at, name in enumerate(known) if pattern.search(name)] for known in names]
    if not any(chosen):
        raise DataError(f"--features {wanted!r} is neither a file with names nor an expression that matches a feature.")
    return chosen


def _listed(path: Path, names: set[str]) -> set[str]:
    """Return the names in a file, each of which names a feature or a variable before it was cut into bins."""
    try:
        listed = [line.strip() for line in path.read_text("utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as a text file of feature names. Write one a line.") from error
    known = {way for name in names for way in _ways(name)}
    unknown = [name for name in listed if name not in known]
    if unknown:
        near = nearest(unknown[0], sorted(known))
        raise DataError(f"{len(unknown)} name(s) in {path} match no feature, the first is {unknown[0]!r}.{near}")
    return set(listed)


def _ways(name: str) -> set[str]:
    """Return what a feature may be called: its name, and what stands before _value, _min and so on."""
    return {name} | {name[: found.start()] for found in _SUFFIX.finditer(name)}


def _drop_doubles(tables: list[pd.DataFrame], others: Sequence[str], folder: Path) -> None:
    """Of a feature in both s and X keep the one of s if they hold the same; refuse all other doubles."""
    shared = [name for name in tables[-1] if len(tables) == 2 and name in tables[0]]
    twice = [name for name in shared if not np.array_equal(tables[0][name], tables[1][name])]
    twice += [name for name in others for table in tables if name in table]
    if twice:
        where = "is the name of another column too" if twice[0] in others else "is in s and in X, with different values"
        raise DataError(f"The feature {twice[0]!r} of {folder} {where}. Leave it out with --features, or rename it.")
    tables[-1] = tables[-1].drop(columns=shared)


@dataclass(frozen=True)
class _Coo:
    """A sparse array as pydata/sparse stores it, read in blocks: its coordinates may be larger than the memory."""

    path: Path
    shape: tuple[int, ...]
    entries: int
    kind: str

    @classmethod
    def open(cls, path: Path, axes: int) -> "_Coo":
        """Read what the file says about itself, and refuse what is not such an array with `axes` axes."""
        with _damaged(path), ZipFile(path) as archive:
            lacking = {f"{name}.npy" for name in ("data", "coords", "shape")} - set(archive.namelist())
            if lacking:
                raise DataError(f"{path} lacks {', '.join(sorted(lacking))}: it is no COO array of the sparse package.")
            data, coords, shape = (_Array(archive, name) for name in ("data", "coords", "shape"))
            fits = shape.shape == (axes,) and len(data.shape) == 1 and coords.shape == (axes, *data.shape)
            whole = {coords.dtype.kind, shape.dtype.kind} <= set("iu")
            sizes = shape.take(axes).tolist() if fits and whole else []
            if not sizes or min(sizes) < 1 or data.dtype.kind not in "biuf":
                raise DataError(f"{path} is no sparse array of numbers with {axes} axes. Download it again.")
            if "fill_value.npy" in archive.namelist() and _Array(archive, "fill_value").take(1)[0] != 0:
                raise DataError(f"{path} holds something other than 0 where nothing is stored. Download it again.")
            return cls(path, tuple(sizes), data.shape[0], data.dtype.kind)

    def blocks(self) -> Iterator[tuple[list[NDArray[Any]], NDArray[Any]]]:
        """Go through the stored values: positions within the shape, one array an axis, and the values there."""
        axes = len(self.shape)
        with _damaged(self.path), ZipFile(self.path) as archive:
            data, coords = _Array(archive, "data"), [_Array(archive, "coords") for _ in self.shape]
            by_entry = coords[0].fortran
            for axis in range(0 if by_entry else axes):
                coords[axis].stream.seek(axis * self.entries * coords[axis].dtype.itemsize, os.SEEK_CUR)
            for start in range(0, self.entries, ENTRIES_AT_ONCE):
                count = min(ENTRIES_AT_ONCE, self.entries - start)
                if by_entry:
                    index = list(coords[0].take(count * axes).reshape(count, axes).T)
                else:
                    index = [stream.take(count) for stream in coords]
                if any(found.min() < 0 or found.max() >= size for found, size in zip(index, self.shape, strict=True)):
                    raise DataError(f"{self.path} has entries outside its shape {self.shape}. Download it again.")
                yield index, data.take(count)


class _Array:
    """One array inside an npz file, read from its start as far as asked; never unpickled."""

    def __init__(self, archive: ZipFile, name: str) -> None:
        self.stream = archive.open(f"{name}.npy")
        first = np.lib.format.read_magic(self.stream) == (1, 0)
        header = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
        self.shape, self.fortran, self.dtype = header(self.stream)
        if self.dtype.hasobject:
            raise DataError(f"{archive.filename} holds Python objects, which could run code. Download it again.")

    def take(self, count: int) -> NDArray[Any]:
        return np.frombuffer(self.stream.read(count * self.dtype.itemsize), self.dtype, count)


@contextmanager
def _damaged(path: Path) -> Iterator[None]:
    try:
        yield
    except (BadZipFile, zlib.error, OSError, EOFError, ValueError, KeyError, RuntimeError) as error:
        raise DataError(f"{path} is not a readable npz file (damaged, or cut short). Download it again.") from error


def _collapse(file: _Coo, rows: NDArray[np.intp], columns: Sequence[int], rule: str, watch: Watch) -> NDArray[Any]:
    """Return the chosen features of the chosen stays [columns, rows], the axis of time reduced by `rule`."""
    numbers = rule == "mean" or (rule == "last" and file.kind == "f")
    result = np.zeros((len(columns), len(rows)), dtype=np.float32 if numbers else np.uint8)
    row_at, column_at = np.full(file.shape[0], -1), np.full(file.shape[-1], -1)
    row_at[rows], column_at[columns] = np.arange(len(rows)), np.arange(len(columns))
    watch.stage(f"reading {file.path.name}", file.entries)
    done = 0
    for index, values in file.blocks() if len(columns) else ():
        row, column = row_at[index[0]], column_at[index[-1]]
        use = (row >= 0) & (column >= 0) & (values != 0)
        if rule == "last" and len(index) == 3:
            use &= index[1] == file.shape[1] - 1
        row, column, found = row[use], column[use], values[use]
        if not (np.isfinite(found) if numbers else found == 1).all():
            other = "infinite values" if numbers else f"numbers other than 0 and 1, for which there is no {rule!r}"
            raise DataError(f"{file.path} holds {other}. Make it anew, or say --collapse mean.")
        if numbers:
            np.add.at(result.reshape(-1), column * len(rows) + row, found.astype(np.float32))
        else:
            result[column, row] = 1
        done += len(values)
        watch.update(done)
    if rule == "mean":
        result /= file.shape[1]
    elif numbers and ((result == 0) | (result == 1)).all():
        return result.astype(np.uint8)
    return result

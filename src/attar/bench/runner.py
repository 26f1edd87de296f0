"""Runs the grid of a benchmark, here or on a cluster: what is there already is not run again, what fails is told."""

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from attar import teach
from attar.bench import measures, results
from attar.bench.cells import Cell
from attar.bench.results import Row
from attar.cohort import Cohort
from attar.methods import method
from attar.run import begin, share_scores, share_teachers
from attar.scale import Failed, Task, run_all
from attar.store import Folder

Files = dict[str, np.ndarray]
"""Names and bytes of the files in a share folder, as arrays so that a cluster passes them by reference."""


@dataclass(frozen=True)
class Where:
    """Where runs are made: in this folder, or, on a cluster whose nodes share no disk, in a temporary one each."""

    folder: str | None

    def place(self, cell: Cell, scratch: str) -> measures.Place:
        """Return the folders of a cell."""
        base = Path(self.folder or scratch)
        return measures.Place(cell, read(cell.cohort), base / "runs" / cell.name, base / "share")


@dataclass
class Standing:
    """How far a benchmark is: cells in all and done, what failed, seconds so far."""

    total: int
    done: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds that the rest will take, as those so far did."""
        return (time.monotonic() - self.began) / max(self.done, 1) * (self.total - self.done)


Watcher = Callable[[Standing, Cell], None]
"""Hears of each cell that ends, and finds its failure in the standing."""


@cache
def read(name: str) -> Cohort:
    """Read a cohort once in a process; COHORT@TARGET is one with another target than its own."""
    path, _, target = name.partition("@")
    return Cohort.read(path, target=target or None)


def teachers(cell: Cell, where: Where, group: int) -> np.ndarray:
    """Train one group of a cell's teachers, unless they are shared already."""
    with tempfile.TemporaryDirectory() as scratch:
        return share_teachers(read(cell.cohort), cell.recipe, where.place(cell, scratch).share, group)


def share(cell: Cell, where: Where, *groups: np.ndarray) -> Files:
    """Compute what the runs of one cohort, seed and kind of teacher have in common; return it as files.

    In a folder that all runs have, it is there for them, and nothing is returned.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = where.place(cell, scratch).share
        share_scores(read(cell.cohort), cell.recipe, folder, groups)
        if where.folder:
            return {}
        return {file.name: np.fromfile(file, np.uint8) for file in sorted(folder.glob("*-*"))}


def measure(cell: Cell, where: Where, shared: Files) -> list[Row]:
    """Make a run and return all that is wanted of it."""
    with tempfile.TemporaryDirectory() as scratch:
        place = where.place(cell, scratch)
        place.share.mkdir(parents=True, exist_ok=True)
        for name, content in shared.items():
            if not (place.share / name).exists():
                content.tofile(place.share / name)
        return [row for want in cell.wants for row in measures.rows(place, want)]


def missing(cells: Sequence[Cell], folder: Path) -> list[Cell]:
    """Return the cells that are not in the results yet, with what is still wanted of them."""
    known = results.done(folder)
    left = []
    for cell in cells:
        wants = tuple(w for w in cell.wants if not all((cell.name, variant, w) in known for variant in cell.variants))
        if wants:
            left.append(replace(cell, wants=wants))
    return left


def run(
    cells: Sequence[Cell],
    folder: Path,
    on: str = "here",
    address: str | None = None,
    watch: Watcher = lambda standing, cell: None,
) -> Standing:
    """Run the cells; `watch` hears of each that ends."""
    where = Where(str(folder) if on == "here" else None)
    by_name, standing = {cell.name: cell for cell in cells}, Standing(len(cells))
    for name, result in run_all(_tasks(cells, where), on, address):
        if name not in by_name:
            continue
        standing.done += 1
        if isinstance(result, Failed):
            standing.failed[name] = result.message
        else:
            results.append(folder, result)
        watch(standing, by_name[name])
    return standing


def _tasks(cells: Sequence[Cell], where: Where) -> list[Task]:
    """Return the cells as tasks, each after that of what it shares with others, which is after its teachers."""
    tasks: dict[str, Task] = {}
    for cell in cells:
        common = common_name(cell)
        if common not in tasks:
            groups = [f"{common} {group}" for group in range(_groups(cell))]
            for group, name in enumerate(groups):
                tasks[name] = Task(name, teachers, (cell, where, group))
            tasks[common] = Task(common, share, (cell, where), after=tuple(groups))
        tasks[cell.name] = Task(cell.name, measure, (cell, where), after=(common,))
    return list(tasks.values())


def _groups(cell: Cell) -> int:
    """Return in how many groups a cell's teachers are trained, none if it has no teachers."""
    if method(cell.recipe.method).choose:
        return 0
    return len(teach.groups(begin(read(cell.cohort), cell.recipe).model, cell.recipe.teachers))


def common_name(cell: Cell) -> str:
    """Return a name for what a run shares with others: cohort, seed, network, teachers and evaluation."""
    sections = cell.recipe.model_dump(mode="json", include={"seed", "prepare", "model", "teachers", "evaluate"})
    return f"share {cell.cohort} {json.dumps(sections, sort_keys=True)}"


def record(folder: Path, facts: dict[str, Any]) -> None:
    """Write what the benchmark was asked for and what failed, for `render`."""
    Folder(folder).write_json("bench.json", facts)

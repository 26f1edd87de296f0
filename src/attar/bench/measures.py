"""What is measured of a run; a new measure is a function here and a row in `WANTS`."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attar import stages
from attar.bench.cells import Cell
from attar.bench.results import Row
from attar.cohort import Cohort
from attar.evaluate.metrics import METRICS
from attar.geometry import breadth
from attar.paths import PATHS, PROFILE_TIMES
from attar.progress import Silent
from attar.run import begin, condense_cohort, evaluate_across
from attar.share import Share
from attar.stages import Journal
from attar.storage import Vault
from attar.store import Run

POINTS = 200
"""Points of a curve that are kept at most."""

Point = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """A run to be measured: its cell, its cohort, its folder, and the folder of what it shares with others."""

    cell: Cell
    cohort: Cohort
    folder: Path
    share: Path


def scores(place: Place) -> Iterator[Point]:
    """Make the run; yield the scores of its arms, over all labels and label by label."""
    found = condense_cohort(place.cohort, place.cell.recipe, place.folder, share=place.share).scores
    model = place.cell.recipe.model.name
    for arm, measured in found["arms"].items():
        yield from of_arm(measured, model, arm)


def of_arm(measured: dict[str, Any], model: str, arm: str) -> Iterator[Point]:
    """Yield the scores of one arm."""
    for metric in METRICS:
        whole = measured[metric]
        point = {"model": model, "arm": arm, "measure": metric}
        yield {**point, "value": whole["mean"], "std": whole["std"], "values": tuple(whole["values"])}
        for label, part in measured.get("labels", {}).items():
            yield {**point, "label": label, "value": part[metric]["mean"], "std": part[metric]["std"]}


def models(place: Place) -> Iterator[Point]:
    """Train other models on the run's table, on random patients and on all; yield their scores."""
    found = evaluate_across(place.cohort, place.folder, place.cell.models)["models"]
    for model, arms in found.items():
        for arm, measured in arms.items():
            yield from of_arm(measured, model, arm)


def history(place: Place) -> Iterator[Point]:
    """Yield matching loss and step size while paths are followed, the mean of those between two points."""
    table = Run(place.folder).read_table("history.parquet")[: place.cell.recipe.inputs.iterations]
    length = -(-len(table) // POINTS)
    groups = table.groupby((table["iteration"] - 1) // length)
    for measure in ("loss", "step_size"):
        for _, part in groups:
            yield {"measure": measure, "x": float(part["iteration"].max()), "value": float(part[measure].mean())}


def profile(place: Place) -> Iterator[Point]:
    """Yield the training loss along the line, the path and the trainings themselves, the mean over teachers."""
    table = Run(place.folder).read_table("profile.parquet")
    for measure in ("line_loss", "path_loss"):
        for t, loss in table.groupby("t")[measure].mean().items():
            yield {"measure": measure, "x": float(t), "value": float(loss)}
    begun, points = _teachers(place)
    recipe = place.cell.recipe
    losses = breadth.profiles_of_trainings(begun.model, points, begun.task(recipe), recipe)["checkpoints"]
    for t, loss in zip(PROFILE_TIMES, losses.mean(axis=0), strict=True):
        yield {"measure": "sgd_loss", "x": float(t), "value": float(loss)}


def spectrum(place: Place) -> Iterator[Point]:
    """Yield the share of energy in the first directions, for each kind of path, and the effective ranks."""
    begun, points = _teachers(place)
    recipe, run = place.cell.recipe, Run(place.folder)
    when = breadth.times(begun.model, len(points), recipe)
    moves = breadth.moves_of_trainings(begun.model, points, begun.task(recipe), recipe, when)
    stored = Vault(begun.model, recipe).unpack(run.read_arrays("paths.safetensors"))
    paths = PATHS[recipe.path.kind].restore(begun.model, stored, points[:, 0], points[:, -1])
    moves[recipe.path.kind] = breadth.moves_of(paths, when)
    for kind, found in breadth.describe(moves).items():
        for number, share in enumerate(found["cumulative"][:POINTS]):
            yield {"measure": "energy", "label": kind, "x": number + 1.0, "value": share}
        for measure in ("rank_by_entropy", "rank_by_energy", "stable_rank"):
            yield {"measure": measure, "label": kind, "value": float(found[measure])}


def storage(place: Place) -> Iterator[Point]:
    """Yield the bytes on disk, and those of a checkpoint of every epoch."""
    found = Run(place.folder).manifest()["storage"]
    sizes = {**found["bytes"], "checkpoints": found["checkpoint_bytes"]}
    for label, size in sizes.items():
        yield {"measure": "bytes", "label": label, "value": float(size)}


WANTS: dict[str, Callable[[Place], Iterator[Point]]] = {
    "scores": scores,
    "models": models,
    "history": history,
    "profile": profile,
    "spectrum": spectrum,
    "storage": storage,
}
"""The first makes the run, the others look at it."""


def rows(place: Place, want: str) -> list[Row]:
    """Return what is wanted of a run, once for each variant that it stands for."""
    cell, recipe = place.cell, place.cell.recipe
    points = list(WANTS[want](place))
    blank: Point = {"model": recipe.model.name, "arm": "", "label": "", "x": math.nan}
    own: Point = {"cell": cell.name, "cohort": cell.cohort, "method": recipe.method, "per_class": recipe.per_class}
    own |= {"seed": recipe.seed, "want": want}
    return [Row(**own, variant=variant, **{**blank, **point}) for variant in cell.variants for point in points]


def _teachers(place: Place) -> tuple[Any, np.ndarray]:
    """Return how the run began and its teachers at every epoch, from what is shared."""
    begun, run = begin(place.cohort, place.cell.recipe), Run(place.folder)
    journal = Journal(run, run.manifest(), Silent(), Share(place.share))
    return begun, stages.taught(journal, begun.model, begun.task(place.cell.recipe), place.cell.recipe, True)

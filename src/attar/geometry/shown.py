"""What the pictures show beside the theorems: losses along paths and iterations, a plane of the paths, stored bytes."""

from typing import Any

import jax
import numpy as np

from attar.geometry import breadth
from attar.geometry.case import Case, Lineup, taught_alike
from attar.geometry.spectrum import directions
from attar.paths import PROFILE_TIMES, Line
from attar.recipe import Recipe
from attar.teach import Teachers

POINTS = 100
"""Points of the longest curve of losses by iteration."""

STEPS = 41
"""Points of a path in the plane."""


def path_name(recipe: Recipe, kind: str | None = None) -> str:
    """Return the name of a recipe's paths: their kind, and how the teachers were trained unless by plain SGD."""
    optimiser = recipe.teachers.optimiser
    return (kind or recipe.path.kind) + ("" if optimiser == "sgd" else f"-{optimiser}")


def spectra(case: Case, lineup: Lineup, when: breadth.Times) -> dict[str, dict[str, Any]]:
    """Return how broad the displacements of each kind of path are over the same times."""
    found = {}
    if lineup.trainings is not None:
        moves = breadth.moves_of_trainings(
            case.begun.model, lineup.trainings, case.begun.task(case.recipe), case.recipe, when
        )
        found = {path_name(case.recipe, kind): facts for kind, facts in breadth.describe(moves).items()}
    for supervision in lineup.supervisions.values():
        name = path_name(supervision.recipe)
        if name not in found:
            count = len(jax.tree.leaves(supervision.paths)[0])
            some = breadth.Times(when.start[:count], when.end[:count])
            found |= breadth.describe({name: breadth.moves_of(supervision.paths, some)})
    line = path_name(case.recipe, "line")
    if line not in found:
        found |= breadth.describe({line: breadth.moves_of(straight(case), when)})
    return found


def straight(case: Case) -> Line:
    """Return the straight lines between the run's teachers' ends."""
    return Line.draw(
        case.begun.model, Teachers(case.ends), case.begun.task(case.recipe), case.recipe, lambda step: None
    )


def losses_along(case: Case, lineup: Lineup) -> dict[str, Any]:
    """Return the training loss along each kind of path of the first teachers, the mean over them, against t."""
    table = case.run.read_table("profile.parquet")
    first = table[table["teacher"] < breadth.PROFILED].groupby("t")[["line_loss", "path_loss"]].mean()
    found = {path_name(case.recipe): first["path_loss"].tolist()}
    found.setdefault(path_name(case.recipe, "line"), first["line_loss"].tolist())
    if lineup.trainings is not None:
        losses = breadth.profiles_of_trainings(
            case.begun.model, lineup.trainings, case.begun.task(case.recipe), case.recipe
        )
        found |= {path_name(case.recipe, kind): part.mean(axis=0).tolist() for kind, part in losses.items()}
    return {
        "t": PROFILE_TIMES.tolist(),
        "loss": found,
        "teachers": min(breadth.PROFILED, case.recipe.teachers.count),
        "epochs": case.recipe.teachers.epochs,
    }


def plane(case: Case, lineup: Lineup) -> dict[str, Any]:
    """Return the paths of the first teacher in the plane of their two strongest directions."""
    times = np.linspace(0.0, 1.0, STEPS, dtype=np.float32)
    walked = {path_name(case.recipe, "line"): case.ends[0]}
    for supervision in lineup.supervisions.values():
        if taught_alike(supervision.recipe, case.recipe):
            walked.setdefault(path_name(supervision.recipe), np.asarray(breadth.points(supervision.paths, 0, times)))
    if lineup.trainings is not None:
        walked[path_name(case.recipe, "checkpoints")] = lineup.trainings[0]
    points = np.concatenate(list(walked.values())).astype(np.float64)
    points -= points.mean(axis=0)
    seen = points @ directions(points, 2).T
    parts = np.split(seen, np.cumsum([len(path) for path in walked.values()])[:-1])
    return {
        "share": (np.sum(seen**2, axis=0) / np.vdot(points, points)).tolist(),
        "paths": {name: part.tolist() for name, part in zip(walked, parts, strict=True)},
    }


def matching(lineup: Lineup) -> dict[str, dict[str, list[float]]]:
    """Return the matching loss of every method by iteration, each the mean of as many iterations."""
    each = -(-max(len(one.losses) for one in lineup.supervisions.values()) // POINTS)
    return {name: thinned(one.losses, each) for name, one in lineup.supervisions.items()}


def thinned(losses: np.ndarray, each: int) -> dict[str, list[float]]:
    """Return the means of so many losses after each other, without infinite ones, and the iterations they end at."""
    parts = [losses[start : start + each] for start in range(0, len(losses), each)]
    finite = [(each * (place + 1), part[np.isfinite(part)]) for place, part in enumerate(parts)]
    return {
        "iteration": [min(place, len(losses)) for place, part in finite if len(part)],
        "loss": [float(part.mean()) for _, part in finite if len(part)],
    }


def storage(case: Case) -> dict[str, int]:
    """Return the bytes of ways to store what stands for the teachers' trainings, and those of this run."""
    teachers, epochs, size = case.recipe.teachers.count, case.recipe.teachers.epochs, case.begun.model.size
    vector = 4 * teachers * size
    return {
        "every epoch": (epochs + 1) * vector,
        "curve, whole": 3 * vector,
        "curve, seeded start": 2 * vector,
        "curve, half precision": vector,
        "this run": sum(case.run.manifest()["storage"]["bytes"].values()),
    }

"""How broad each kind of path is between the same teachers' ends: displacements over the same times on all of them.

Trainings are looked at one after the other, so that those of many teachers need not fit into memory.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from attar.geometry.spectrum import Spectrum, spectrum
from attar.geometry.trainings import Epochs
from attar.models import Model
from attar.paths import PATHS, Path, pick, profile
from attar.recipe import Recipe
from attar.seeds import stream
from attar.teach import Teachers
from attar.train import Task

SEGMENTS, BYTES = 400, 2**27
"""Segments of all teachers together, and the most that their displacements may take."""

LENGTH = 0.2
"""Share of a path between the ends of a segment here, the paper's, whatever share the run's students follow."""

PROFILED = 10
"""Teachers along whose paths the training loss is taken."""

FROM_TRAINING = ("checkpoints", "convexified")
"""Kinds of path that are drawn from every epoch of a training, with nothing to fit."""


class Times(NamedTuple):
    """Ends of segments, both [teachers, segments of each]."""

    start: np.ndarray
    end: np.ndarray


def times(model: Model, teachers: int, recipe: Recipe) -> Times:
    """Draw segments anywhere on the paths, as many on each teacher's."""
    each = max(1, min(SEGMENTS, BYTES // (4 * model.size)) // teachers)
    start = jax.random.uniform(stream(recipe.seed, "spectrum"), (teachers, each), maxval=1.0 - LENGTH)
    return Times(np.asarray(start), np.asarray(start + LENGTH))


@jax.jit
def points(paths: Path, index: int, times: np.ndarray) -> Array:
    """Return the parameters [times, p] on one of many paths."""
    return jax.vmap(pick(paths, index).at)(jnp.asarray(times))


def displacements(paths: Path, index: int, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return the displacements [segments, p] of one of many paths."""
    ends, starts = np.split(np.asarray(points(paths, index, np.concatenate([end, start]))), 2)
    return ends - starts


def moves_of(paths: Path, when: Times) -> np.ndarray:
    """Return the displacements [segments, p] of all teachers' paths."""
    return np.concatenate([displacements(paths, index, *pair) for index, pair in enumerate(zip(*when, strict=True))])


def drawn(model: Model, trainings: Iterable[np.ndarray], task: Task, recipe: Recipe) -> Iterator[dict[str, Path]]:
    """Yield for each training its paths of the kinds that are drawn from every epoch, each with a leading axis of 1."""
    for training in trainings:
        teacher = Teachers(np.asarray(training)[None])
        yield {kind: PATHS[kind].draw(model, teacher, task, recipe, lambda step: None) for kind in FROM_TRAINING}


def moves_of_trainings(
    model: Model, trainings: Epochs, task: Task, recipe: Recipe, when: Times
) -> dict[str, np.ndarray]:
    """Return the displacements [segments, p] of the trainings themselves and of their convexified paths."""
    found: dict[str, list[np.ndarray]] = {kind: [] for kind in FROM_TRAINING}
    for index, paths in enumerate(drawn(model, trainings, task, recipe)):
        for kind, path in paths.items():
            found[kind].append(displacements(path, 0, when.start[index], when.end[index]))
    return {kind: np.concatenate(found.pop(kind)) for kind in FROM_TRAINING}


def profiles_of_trainings(model: Model, trainings: Epochs, task: Task, recipe: Recipe) -> dict[str, np.ndarray]:
    """Return the training loss [teachers, times] along the first trainings and along their convexified paths."""
    found: dict[str, list[np.ndarray]] = {kind: [] for kind in FROM_TRAINING}
    for paths in drawn(model, islice(trainings, PROFILED), task, recipe):
        for kind, path in paths.items():
            found[kind].append(profile(model, path, task))
    return {kind: np.concatenate(rows) for kind, rows in found.items()}


def describe(found: Mapping[str, np.ndarray]) -> dict[str, dict[str, Any]]:
    """Return, for each kind of path, how broad its displacements [segments, p] are."""
    return {name: facts(spectrum(moves), len(moves)) for name, moves in found.items()}


def facts(spread: Spectrum, segments: int) -> dict[str, Any]:
    """Return a spectrum as plain numbers."""
    return {
        "segments": segments,
        "rank_by_energy": spread.rank_by_energy,
        "rank_by_entropy": spread.rank_by_entropy,
        "stable_rank": spread.stable_rank,
        "cumulative": np.round(spread.cumulative, 6).tolist(),
        "energy": spread.energy,
    }

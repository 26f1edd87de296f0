"""The teachers at the end of every epoch, which most runs do not keep: trained again from the seed, and kept then.

One file a teacher, so that an analysis can look at one after the other and never holds them all.
"""

import json
import zlib
from collections.abc import Iterator

import numpy as np

from attar import teach
from attar.errors import RunError
from attar.models import Model
from attar.progress import Watch
from attar.recipe import Recipe
from attar.store import Folder, Run
from attar.train import Task

SAME = {"whole": 1e-3, "seeded": 1e-3, "float16": 1e-2}
"""How far teachers trained again may end from the stored ones, over the way they went, by how those are stored."""


class Trainings:
    """Trainings [epochs + 1, p] of many teachers, each read when it is asked for."""

    def __init__(self, folder: Folder, teachers: int) -> None:
        self.folder, self.teachers = folder, teachers

    def __len__(self) -> int:
        return self.teachers

    def __getitem__(self, index: int) -> np.ndarray:
        return self.folder.map_array(_name(index))

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[index] for index in range(self.teachers))

    @property
    def complete(self) -> bool:
        """Whether every teacher's file is there."""
        return all(self.folder.has(_name(index)) for index in range(self.teachers))


Epochs = np.ndarray | Trainings
"""Many teachers at the end of every epoch, or at both ends: [teachers, points, p], or one [points, p] at a time."""


def read_or_train(run: Run, model: Model, task: Task, recipe: Recipe, watch: Watch) -> Trainings:
    """Return the trainings of a recipe's teachers, read from the run's folder `geometry` or trained and kept there."""
    folder = _folder(run, recipe)
    trainings = Trainings(folder, recipe.teachers.count)
    if not trainings.complete:
        for index, training in enumerate(_train(model, task, recipe, True, watch)):
            folder.write_arrays(_name(index), {"points": training})
    return trainings


def read_or_train_ends(run: Run, model: Model, task: Task, recipe: Recipe, watch: Watch) -> np.ndarray:
    """Return both ends [teachers, 2, p] of a recipe's teachers, read from the same place or trained and kept there."""
    folder = _folder(run, recipe)
    if not folder.has("ends.safetensors"):
        folder.write_arrays("ends.safetensors", {"points": _train(model, task, recipe, False, watch)})
    return folder.read_arrays("ends.safetensors")["points"]


def check_same(trainings: Trainings, ends: np.ndarray, recipe: Recipe) -> None:
    """Raise RunError if teachers trained again are not those of the run, whose ends [teachers, 2, p] were stored."""
    for index, (start, end) in enumerate(ends):
        training = trainings[index]
        gap = max(np.linalg.norm(training[0] - start), np.linalg.norm(training[-1] - end))
        if gap > SAME[recipe.teachers.store] * np.linalg.norm(end - start):
            raise RunError(
                f"Trained again from the seed, teacher {index} is another one than in the run: this machine or version "
                f"of JAX rounds differently. Use the versions in the run's manifest.json, or make the run anew. If the "
                f"run was changed since, remove {trainings.folder.folder} and try again."
            )


def _folder(run: Run, recipe: Recipe) -> Folder:
    key = json.dumps([recipe.seed, recipe.teachers.model_dump(exclude={"store"})]).encode()
    return Folder(run.folder / "geometry" / f"teachers-{zlib.crc32(key):08x}")


def _train(model: Model, task: Task, recipe: Recipe, every_epoch: bool, watch: Watch) -> np.ndarray:
    settings = recipe.teachers
    total = settings.epochs * len(teach.groups(model, settings))
    watch.stage(f"{settings.optimiser} teachers, prior {settings.prior}", total)
    return teach.teach(
        model, task, settings, recipe.seed, every_epoch, watch=lambda progress: watch.update(progress.epochs)
    ).points


def _name(index: int) -> str:
    return f"{index:03}.safetensors"

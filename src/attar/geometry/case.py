"""A run in hand for its analysis, with its teachers, and the methods that it is compared with."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attar.geometry.supervise import Supervision, other, own
from attar.geometry.trainings import Epochs, Trainings, check_same, read_or_train, read_or_train_ends
from attar.paths import PATHS, Checkpoints
from attar.progress import Watch
from attar.recipe import Recipe
from attar.run import Beginning
from attar.store import Run

PRIORS = ("none", "aligned")
"""The teachers' priors that a comparison sets side by side."""


@dataclass(frozen=True, eq=False)
class Case:
    """A run, what it began with, its recipe, the ends of its teachers [teachers, 2, p], who watches."""

    run: Run
    begun: Beginning
    recipe: Recipe
    ends: np.ndarray
    watch: Watch

    def trainings(self, recipe: Recipe) -> Trainings:
        """Return every epoch of a recipe's teachers; if they are the run's own, check that they are."""
        found = read_or_train(self.run, self.begun.model, self.begun.task(recipe), recipe, self.watch)
        if taught_alike(recipe, self.recipe):
            check_same(found, self.ends, recipe)
        return found

    def ends_by_prior(self, compared: bool) -> dict[str, np.ndarray]:
        """Return the ends of the run's teachers by their prior; compared, also those of teachers with other priors."""
        ends: dict[str, np.ndarray] = {self.recipe.teachers.prior: self.ends}
        for prior in PRIORS if compared else ():
            if prior not in ends:
                changed = self.recipe.teachers.model_copy(update={"prior": prior})
                recipe = self.recipe.model_copy(update={"teachers": changed})
                ends[prior] = read_or_train_ends(
                    self.run, self.begun.model, self.begun.task(recipe), recipe, self.watch
                )
        return ends


@dataclass(frozen=True, eq=False)
class Lineup:
    """The supervisions by method, the run's own first, and every epoch of the run's teachers if it was needed."""

    supervisions: dict[str, Supervision]
    trainings: Epochs | None


def taught_alike(one: Recipe, two: Recipe) -> bool:
    """Tell whether two recipes have the same teachers."""
    first, second = (recipe.teachers.model_dump(exclude={"store"}) for recipe in (one, two))
    return first == second


def line_up(case: Case, others: Sequence[Recipe]) -> Lineup:
    """Return the run's supervision and those of the recipes of other methods, with teachers trained as they need."""
    begun = case.begun
    supervisions = {case.recipe.method: own(case.run, begun.model, case.recipe, case.ends)}
    paths = supervisions[case.recipe.method].paths
    trainings: Epochs | None = np.asarray(paths.points) if isinstance(paths, Checkpoints) else None
    for recipe in others:
        points: Epochs = case.ends
        if not taught_alike(recipe, case.recipe):
            points = case.trainings(recipe)
        elif PATHS[recipe.path.kind].every_epoch:
            trainings = case.trainings(recipe) if trainings is None else trainings
            points = trainings
        supervisions[recipe.method] = other(begun, recipe, points, case.watch)
    return Lineup(supervisions, trainings)

"""What an outer loop works on, made of a small real cohort: the network, teachers, their curves, patients and rules."""

from typing import NamedTuple

import jax
import numpy as np

from attar import condense, drawing, initial, legal, moves, paths, recipe, teach
from attar.cohort import Cohort
from attar.evaluate.utility import Scorer
from attar.models.mlp import MLP
from attar.patients import Patients, balanced
from attar.prepare import prepare
from attar.train import fresh

MATCHING = {
    "student.match": "predictions",
    "student.moments": 3,
    "student.gradient": "exact",
    "segments.length": 1.0,
}
"""How the default recipe matches; the quick one matches as the paper does."""


class Setting(NamedTuple):
    model: MLP
    teachers: teach.Teachers
    drawn: paths.Bezier
    patients: Patients
    start: initial.Initial
    rules: legal.Legal
    scorer: Scorer

    @classmethod
    def of(cls, cohort: Cohort, settings: dict) -> "Setting":
        data = prepare(cohort, cohort.split(0))
        model = MLP(data.x_train.shape[1], 1, 16, 0.25)
        task = teach.task(data.x_train, data.y_train, "aligned", np.array([0.5]))
        resolved = recipe.load("default", settings)
        teachers = teach.teach(model, task, resolved.teachers, 0)
        drawn = paths.Bezier.draw(model, teachers, task, resolved, lambda step: None)
        start = initial.draw(data.x_train, data.y_train, 10, "real", np.random.default_rng(0))
        key = jax.random.key(3)
        scorer = Scorer.of(fresh(model, key, 2), key, data.x_validation, data.y_validation)
        patients = balanced(data.x_train, data.y_train)
        return cls(model, teachers, drawn, patients, start, legal.legal(data.preparation), scorer)

    def begin(self, resolved: recipe.Recipe) -> condense.State:
        return condense.begin(self.model, self.drawn, self.patients, self.start.x, self.start.y, resolved)

    def move(self, resolved: recipe.Recipe, state: condense.State, key: jax.Array) -> tuple[jax.Array, condense.State]:
        segment = drawing.draw_segment(self.drawn, resolved, key, state.iteration)
        seen = drawing.draw_patients(self.patients, resolved, key)
        return moves.move(self.model, segment, seen, self.rules, resolved, state, key)

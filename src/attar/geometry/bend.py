"""Theorems 3 and 4 on a run's own Bezier curves: their rank and bend, and how far predictions along them stray."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attar.drawing import draw_batches
from attar.geometry import curves
from attar.geometry.breadth import Times, moves_of, points
from attar.geometry.predictions import gaps, lipschitz, sample
from attar.geometry.reach import outside, walk
from attar.geometry.spectrum import spectrum
from attar.geometry.supervise import Supervision
from attar.geometry.trainings import Epochs
from attar.models import Model
from attar.paths import Bezier, Checkpoints, Path
from attar.seeds import stream

TEACHERS = 3
"""Teachers along whose curves predictions are compared."""

TIMES = np.linspace(0.1, 0.9, 5, dtype=np.float32)
"""Where on them."""

RANK_CUT = 1e-4
"""A direction weaker than this share of the strongest is rounding: displacements are differences of float32 vectors."""


def is_quadratic(paths: Path) -> bool:
    """Tell whether paths are what the theorems are about: Bezier curves with one control point."""
    return isinstance(paths, Bezier) and paths.points.shape[1] == 3


def bend(
    model: Model,
    supervision: Supervision,
    x: np.ndarray,
    when: Times,
    trainings: Epochs | None,
) -> dict[str, Any]:
    """Return what the theorems say of the curves and what is measured, against the trainings if they are at hand.

    Without them predictions are compared with those on the chord, for which D is 0.
    """
    controls = np.asarray(supervision.paths.points)  # type: ignore[attr-defined]
    kappa = np.array([curves.curvature(point) for point in controls])
    found: dict[str, Any] = {
        "teachers": len(controls),
        "chord": spread(np.linalg.norm(controls[:, 2] - controls[:, 0], axis=1)),
        "curvature": spread(kappa),
        "chord_distance": spread(kappa / 8),
        **ranks(supervision.paths, controls, when),
    }
    if trainings is not None:
        each = [(curves.teacher_distance(training), curves.discrete_curvature(training)) for training in trainings]
        distances, bends = zip(*each, strict=True)
        found["teacher_distance"] = spread(np.array(distances))
        found["training_curvature"] = spread(np.concatenate(bends))
    return found | {"predictions": strayed(model, supervision, x, trainings)}


def ranks(paths: Path, controls: np.ndarray, when: Times) -> dict[str, Any]:
    """Return the ranks of the displacements of each curve and of all, and how well Theorem 3 holds of them.

    outside_basis and identity_error are the greatest distances, over a displacement's length, from the span of the two
    vectors and from the combination of them that the theorem says it is.
    """
    moves = moves_of(paths, when)
    greatest, strange, wrong = 0, [], []
    for curve, own, starts, ends in zip(controls, np.split(moves, len(controls)), *when, strict=True):
        expected = [curves.displacement(curve.astype(np.float64), *pair) for pair in zip(starts, ends, strict=True)]
        lengths = np.linalg.norm(expected, axis=1)
        greatest = max(greatest, spectrum(own).rank(RANK_CUT))
        strange.append(np.linalg.norm(outside(curves.basis(curve), own), axis=1) / lengths)
        wrong.append(np.linalg.norm(own - expected, axis=1) / lengths)
    return {
        "rank": {
            "greatest_of_one": greatest,
            "together": spectrum(moves).rank(RANK_CUT),
            "most": 2 * len(controls),
        },
        "outside_basis": float(np.max(strange)),
        "identity_error": float(np.max(wrong)),
    }


def strayed(model: Model, supervision: Supervision, x: np.ndarray, trainings: Epochs | None) -> dict[str, Any]:
    """Return how far predictions of curve and student are from the training's, or the chord's, and the bounds.

    The student follows the segment in the middle of the curve. Distances are roots of mean squares of risks.
    """
    recipe, patients = supervision.recipe, sample(model, x)
    end = (1 + recipe.segments.length) / 2
    whens = np.array([1 - end, *TIMES, end], np.float32)
    gap, epsilon, allowed, steepest = [], [], [], []
    for index, point in enumerate(np.asarray(supervision.paths.points)[:TEACHERS]):  # type: ignore[attr-defined]
        training = point[[0, 2]] if trainings is None else trainings[index]
        both = Bezier(jnp.asarray(point[None])), Checkpoints(jnp.asarray(training[None]))
        (begin, *along), (_, *beside) = (np.array(points(path, 0, whens)) for path in both)
        student = follow(model, supervision, begin, index)
        epsilon.append(float(np.linalg.norm(student - along[-1])))
        along[-1] = student
        allowed.append(curves.chord_distance(point) + curves.teacher_distance(training))
        networks = np.stack(along), np.stack(beside)
        steepest.append(lipschitz(model, *networks, patients))
        gap.append(np.asarray(gaps(model, *networks, patients)))
    constant, gaps_of, far = max(steepest), np.array(gap), np.array(allowed)
    curve_gap, curve_bound = gaps_of[:, :-1].max(axis=1), constant * far
    student_gap, student_bound = gaps_of[:, -1], constant * (far + np.array(epsilon))
    return {
        "against": "chord" if trainings is None else "training",
        "patients": len(patients),
        "lipschitz": constant,
        "curve": {"gap": curve_gap.tolist(), "bound": curve_bound.tolist()},
        "student": {"gap": student_gap.tolist(), "bound": student_bound.tolist(), "epsilon": epsilon},
        "violations": int(np.sum(curve_gap > curve_bound) + np.sum(student_gap > student_bound)),
    }


def follow(model: Model, supervision: Supervision, start: np.ndarray, index: int) -> np.ndarray:
    """Return where the student of a method ends that starts there."""
    recipe, lesson = supervision.recipe, supervision.lesson
    key = jax.random.fold_in(stream(recipe.seed, "geometry"), index)
    batches = draw_batches(recipe, len(lesson.x), recipe.student.steps, key)
    return np.asarray(walk(model, start, lesson._replace(batches=batches), recipe.student.steps)[0])


def spread(values: np.ndarray) -> dict[str, float]:
    """Return mean, median and greatest."""
    return {"mean": float(values.mean()), "median": float(np.median(values)), "greatest": float(values.max())}

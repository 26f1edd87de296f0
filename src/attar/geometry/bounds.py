"""Theorems 1 and 2 on a method's own segments: the matching loss of each, the bounds below it, where the rest lies."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from attar.drawing import BATCHES, draw_batches, draw_segment, seedless
from attar.geometry.reach import TOLERANCE, Union, measure
from attar.geometry.spectrum import spectrum
from attar.geometry.supervise import Supervision
from attar.match import Segment
from attar.models import Model, flat
from attar.paths import Path
from attar.progress import Watch
from attar.recipe import Recipe
from attar.seeds import stream

SEGMENTS, FEWEST, WORK = 100, 12, 2**25
"""Segments that are looked at: fewer, but twelve, if their students' steps would touch more numbers than this."""


class Bounds(NamedTuple):
    """What was found: numbers for geometry.json, and the mean energies by tensor of what was asked, left and missed."""

    facts: dict[str, Any]
    residual: dict[str, dict[str, float]]


def draw(paths: Path, recipe: Recipe, rows: int, key: Array) -> tuple[Segment, Array | None]:
    """Draw a segment as in the last iteration of a condensation, and what rows of the set each step sees."""
    segment = draw_segment(paths, seedless(recipe), key, jnp.int32(recipe.inputs.iterations - 1))
    return segment, draw_batches(recipe, rows, recipe.student.steps, jax.random.fold_in(key, BATCHES))


def bounds(model: Model, supervision: Supervision, watch: Watch) -> Bounds:
    """Send students along segments of a method's paths and compare what they reach with what they could."""
    recipe, lesson, steps = supervision.recipe, supervision.lesson, supervision.recipe.student.steps
    touched = max(math.prod(model.units(len(lesson.x))), model.size) * steps
    count = max(FEWEST, min(SEGMENTS, WORK // touched))
    sizes, union = flat.sizes(model.tensors), Union(model.size)
    moves, reached = np.zeros((count, model.size), np.float32), []
    watch.stage(f"{recipe.method}: bounds", count)
    key = stream(recipe.seed, "geometry")
    for index in range(count):
        segment, batches = draw(supervision.paths, recipe, len(lesson.x), jax.random.fold_in(key, index))
        found, basis = measure(model, segment, lesson._replace(batches=batches), steps, sizes)
        move = np.asarray(segment.end) - np.asarray(segment.start)
        moves[index] = move / max(float(np.linalg.norm(move)), float(segment.shortest))
        reached.append(found)
        union.add(basis)
        watch.update(index + 1)
    loss, bound = (np.array([getattr(found, name) for found in reached]) for name in ("loss", "bound"))
    spread = spectrum(moves)
    facts = {
        "segments": count,
        "steps": steps,
        "iterations": len(supervision.losses),
        "step_size": float(lesson.step_size),
        "loss": loss.tolist(),
        "bound": bound.tolist(),
        "mean_loss": float(loss.mean()),
        "mean_bound": float(bound.mean()),
        "violations": int(np.sum(bound > loss + TOLERANCE)),
        "greatest_excess": float(np.max(bound - loss)),
        "dimension": float(np.mean([found.dimension for found in reached])),
        "together": {
            "segments": union.segments,
            "dimension": len(union.basis),
            "bound": union.bound(moves),
            "mean_loss": float(loss[: union.segments].mean()),
        },
        "shared_directions": {"directions": steps, "least_loss": spread.tail(steps) / count},
        "rank_by_energy": spread.rank_by_energy,
        "rank_by_entropy": spread.rank_by_entropy,
    }
    energies = {
        words: dict(
            zip(model.tensors, np.mean([getattr(found, words) for found in reached], axis=0).tolist(), strict=True)
        )
        for words in ("asked", "unreachable", "missed")
    }
    return Bounds(facts, energies)

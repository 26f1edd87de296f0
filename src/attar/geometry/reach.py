"""What a student can reach: the span of its own gradients, and what of a segment lies outside it.

N plain gradient steps end at start - eta * sum_n g_n, so the student moves within the span of its N gradients. With P_k
the projector on it and Delta_k the segment's displacement, the matching loss cannot fall below |(I - P_k) Delta_k|^2
over the segment's squared length (Theorem 1). With P the projector on the span of all segments' gradients, the mean
loss cannot fall below the mean of |(I - P) Delta_k|^2, and no r directions shared by all segments leave less than the
tail of the displacements' spectrum (Theorem 2). Projections are in float64.
"""

from dataclasses import dataclass
from functools import partial

import jax
import numpy as np
from jax import Array, lax

from attar.geometry.spectrum import gram
from attar.match import Lesson, Segment
from attar.models import Model
from attar.models.student import student_loss

CUT = 1e-6
"""A direction of the gradients weaker than this share of the strongest is rounding: gradients are float32."""

TOLERANCE = 1e-4
"""How far a loss may lie below its bound, as a share of the segment: the student's steps are rounded to float32."""

UNION, UNION_BYTES = 20, 2**27
"""Segments whose gradients are put together: fewer if their basis would take more bytes. All would span everything."""


@partial(jax.jit, static_argnames=("model", "steps"))
def walk(model: Model, start: Array, lesson: Lesson, steps: int) -> tuple[Array, Array]:
    """Train a student; return its end [p] and its gradients [steps, p]."""

    def step(theta: Array, rows: Array | None) -> tuple[Array, Array]:
        slope = jax.grad(student_loss, 1)(model, theta, lesson.x, lesson.y, rows)
        return theta - lesson.step_size * slope, slope

    return lax.scan(step, start, lesson.batches, length=steps)


def orthonormal(vectors: np.ndarray, cut: float = CUT, least: float = 0.0) -> np.ndarray:
    """Return an orthonormal basis [rank, p] of the span of vectors [n, p] in float64, without its faintest directions.

    Those are weaker than `cut` times the strongest, or than `least`. Taken twice from the Gram matrix, which is several
    times faster than by Householder's reflections and as good: the second time the vectors are nearly orthonormal.
    """
    vectors = vectors.astype(np.float64, copy=False)
    for floor in (least, 0.0):
        squares, turned = np.linalg.eigh(gram(vectors))
        kept = squares > max(cut**2 * squares[-1], floor**2) if len(squares) else np.zeros(0, bool)
        vectors = (turned[:, kept] / np.sqrt(squares[kept])).T @ vectors
    return vectors


def outside(basis: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the part of vectors [..., p] that is orthogonal to an orthonormal basis [rank, p]."""
    return vectors - (vectors @ basis.T) @ basis


@dataclass(frozen=True, eq=False)
class Reached:
    """One segment: its matching loss, the bound below it, the dimension of the student's span.

    Besides, by parameter tensor, the energy of the displacement, of what the span cannot reach of it, and of what the
    student missed, all over the segment's squared length.
    """

    loss: float
    bound: float
    dimension: int
    asked: np.ndarray
    unreachable: np.ndarray
    missed: np.ndarray


def measure(
    model: Model, segment: Segment, lesson: Lesson, steps: int, sizes: tuple[int, ...]
) -> tuple[Reached, np.ndarray]:
    """Send a student along a segment; return what it reached of it, and the basis of its gradients [rank, p]."""
    end, slopes = walk(model, segment.start, lesson, steps)
    start, target = np.asarray(segment.start, np.float64), np.asarray(segment.end, np.float64)
    basis, move = orthonormal(np.asarray(slopes)), target - start
    length = max(float(move @ move), float(segment.shortest) ** 2)
    unreachable, missed = outside(basis, move), np.asarray(end, np.float64) - target
    asked, left, gap = (by_tensor(vector, sizes) / length for vector in (move, unreachable, missed))
    return Reached(float(gap.sum()), float(left.sum()), len(basis), asked, left, gap), basis


def by_tensor(vector: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """Return the energy of a vector [p] in each parameter tensor."""
    return np.array([part @ part for part in np.split(vector, np.cumsum(sizes)[:-1])])


class Union:
    """The span of the gradients of one segment after another, until there are enough or no room is left."""

    def __init__(self, size: int) -> None:
        self.basis = np.zeros((0, size))
        self.segments, self.full = 0, False

    def add(self, basis: np.ndarray) -> None:
        """Take in a segment's orthonormal basis [rank, p], unless the union is full."""
        size = basis.shape[1]
        most = min(len(self.basis) + len(basis), size)
        self.full = self.full or 8 * most * size > UNION_BYTES
        if not self.full:
            if not len(self.basis):
                self.basis = basis
            elif len(self.basis) < size:
                self.basis = np.concatenate([self.basis, orthonormal_outside(self.basis, basis)])
            self.segments += 1
            self.full = self.segments == UNION

    def bound(self, moves: np.ndarray) -> float:
        """Return Theorem 2's bound on the mean loss of the segments taken in, whose displacements these begin with.

        Displacements [K, p] are divided by what the loss divides by.
        """
        left = outside(self.basis, moves[: self.segments].astype(np.float64))
        return float(np.sum(left**2)) / max(self.segments, 1)


def orthonormal_outside(basis: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of what unit vectors [n, p] add to the span of an orthonormal basis."""
    rest = outside(basis, outside(basis, vectors))
    return orthonormal(rest, least=CUT)[: vectors.shape[1] - len(basis)]

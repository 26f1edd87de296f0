"""What the theorems say of a quadratic Bezier curve, on arrays: its displacements, its bend, its distance to a teacher.

A curve is its points [3, p]: start, control, end. The displacement between t_s and t_e is a combination of two vectors
alone, end - start and 2 control - start - end (Theorem 3). Its second derivative is the same everywhere, of norm
kappa = 2 |start - 2 control + end|, and it leaves its chord by at most kappa / 8, at t = 1/2. Predictions along it
differ from those along a teacher's training, walked in straight lines between epochs, by at most L (kappa / 8 + D), D
the teacher's greatest distance from the chord at equal t and L a Lipschitz constant (Theorem 4); those of a student
that ends at a distance epsilon from the curve by at most L (kappa / 8 + D + epsilon) (Corollary).
"""

import numpy as np

from attar.geometry.reach import orthonormal


def displacement(points: np.ndarray, t_start: float, t_end: float) -> np.ndarray:
    """Return what Theorem 3 says a segment's displacement [p] is."""
    start, control, end = points
    length = t_end - t_start
    return length * (end - start) + length * (1 - t_start - t_end) * (2 * control - start - end)


def basis(points: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis [at most 2, p] of all displacements of a curve."""
    start, control, end = np.asarray(points, np.float64)
    return orthonormal(np.stack([end - start, 2 * control - start - end]))


def curvature(points: np.ndarray) -> float:
    """Return kappa, the norm of the second derivative, which is the same everywhere on a curve."""
    start, control, end = np.asarray(points, np.float64)
    return 2.0 * float(np.linalg.norm(start - 2 * control + end))


def chord_distance(points: np.ndarray) -> float:
    """Return the greatest distance between a curve and its chord at equal t: kappa / 8."""
    return curvature(points) / 8


def teacher_distance(epochs: np.ndarray) -> float:
    """Return D of a training [epochs + 1, p]: its greatest distance from the chord between its ends at equal t.

    Between two epochs both are straight, so that the greatest distance is at an epoch's end.
    """
    start, way = epochs[0], epochs[-1] - epochs[0]
    times = np.linspace(0.0, 1.0, len(epochs)).tolist()
    return max(float(np.linalg.norm(at - start - t * way)) for t, at in zip(times, epochs, strict=True))


def discrete_curvature(epochs: np.ndarray) -> np.ndarray:
    """Return |theta_(j-1) - 2 theta_j + theta_(j+1)| over the squared time of an epoch, for each inner epoch j.

    The whole training takes the time 1, as a curve does, so that the numbers compare with `curvature`.
    """
    last = len(epochs) - 1
    around = zip(epochs[:-2], epochs[1:-1], epochs[2:], strict=True)
    bends = [float(np.linalg.norm((after - at) - (at - before))) for before, at, after in around]
    return np.array(bends) * last**2

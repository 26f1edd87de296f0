"""How broad a supervision is: the singular values of its displacements, and how many directions they amount to.

A displacement Delta_k = theta_e - theta_s is where a segment asks the student to go; K of them are the rows of a matrix
[K, p]. Its singular values come from the Gram matrix of its shorter side, in float64; of two long sides only the
largest ones are computed, from random combinations. No p x p matrix is made of a long p.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.extmath import randomized_svd

LARGE = 2048
"""Rows and columns above which only the largest singular values are computed: a quarter as many."""

BLOCK = 2**14
"""Columns that are taken to float64 at a time."""

MOST = 0.95
"""The share of the energy that counts as nearly all of it."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Singular values, largest first; the energy (sum of squares) and number of all, those not computed included."""

    values: np.ndarray
    energy: float
    count: int

    @property
    def cumulative(self) -> np.ndarray:
        """Share of the energy in the first 1, 2, ... directions."""
        return np.minimum(np.cumsum(self.values**2) / max(self.energy, np.finfo(float).tiny), 1.0)

    @property
    def rank_by_energy(self) -> int:
        """Directions that hold 95 % of the energy."""
        return min(int(np.searchsorted(self.cumulative, MOST * (1 - 1e-12)) + 1), self.count)

    @property
    def rank_by_entropy(self) -> float:
        """Effective rank exp(-sum q log q), q the shares of the energy.

        What was not computed counts as spread evenly over the missing directions.
        """
        shares = self.values**2 / max(self.energy, np.finfo(float).tiny)
        missing, left = self.count - len(shares), max(1.0 - float(shares.sum()), 0.0)
        if missing:
            shares = np.concatenate([shares, np.full(missing, left / missing)])
        shares = shares[shares > 0]
        return float(np.exp(-np.sum(shares * np.log(shares))))

    @property
    def stable_rank(self) -> float:
        """Energy over that of the strongest direction."""
        return self.energy / max(float(self.values[0]) ** 2, np.finfo(float).tiny)

    def rank(self, cut: float) -> int:
        """Return how many directions are stronger than `cut` times the strongest."""
        return int(np.sum(self.values > cut * self.values[0]))

    def tail(self, rank: int) -> float:
        """Return the energy outside the best `rank` directions, which no other span of that size undercuts.

        Of a spectrum that was computed in part, the largest rank is that of the part.
        """
        return max(self.energy - float(np.sum(self.values[:rank] ** 2)), 0.0)


def spectrum(moves: np.ndarray) -> Spectrum:
    """Return the singular values of displacements [K, p]."""
    energy, count = float(np.einsum("kp,kp->", moves, moves, dtype=np.float64)), min(moves.shape)
    if count > LARGE:
        values = randomized_svd(moves, LARGE // 4, random_state=0)[1].astype(np.float64)
        return Spectrum(values, energy, count)
    short = moves if moves.shape[0] <= moves.shape[1] else moves.T
    squares = np.linalg.eigvalsh(gram(short))[::-1]
    return Spectrum(np.sqrt(np.maximum(squares, 0.0)), energy, count)


def gram(rows: np.ndarray) -> np.ndarray:
    """Return the inner products of rows [n, m] with each other in float64, a block of columns at a time."""
    products = np.zeros((len(rows), len(rows)))
    for start in range(0, rows.shape[1], BLOCK):
        block = rows[:, start : start + BLOCK].astype(np.float64, copy=False)
        products += block @ block.T
    return products


def directions(moves: np.ndarray, rank: int) -> np.ndarray:
    """Return the best `rank` directions [rank, p] of displacements [K, p], orthonormal; fewer if there are no more."""
    squares, vectors = np.linalg.eigh(gram(moves))
    kept = np.flatnonzero(squares > 1e-12 * squares[-1])[::-1][:rank]
    return (vectors[:, kept].T @ moves) / np.sqrt(squares[kept])[:, None]

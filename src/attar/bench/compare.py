"""Which of several methods did best in a cell of a table: a paired test over seeds, corrected for all their pairs.

With a seed, methods share the split, the teachers' first networks and the random rows, so they are compared seed by
seed. The test is the two-sided paired t test, which can tell methods apart with three seeds if they differ by much more
than their difference varies; the signed-rank test cannot reach 5 % with fewer than six. With fewer than three seeds
nothing is tested. The best is picked from the same data, so Holm's correction is for every pair, not for those of it.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.special import stdtr

LEVEL = 0.05
"""Chance that any pair of equal methods of a cell is taken to differ."""

ENOUGH = 3
"""Seeds that a test needs."""

BEST, TIED = "best", "tied"

Seeds = Mapping[int, float]
"""Seed: value."""

Name = TypeVar("Name", bound=Hashable)


class Tally(NamedTuple):
    """In how many cells a method was best, and in how many others it could not be told from the best."""

    wins: int
    ties: int


def paired(one: Seeds, other: Seeds) -> float:
    """Return the two-sided p value of the paired t test over the seeds of both; NaN if they are too few."""
    common = sorted(one.keys() & other.keys())
    if len(common) < ENOUGH:
        return float("nan")
    gaps = np.array([one[seed] - other[seed] for seed in common])
    middle, spread = abs(gaps.mean()), gaps.std(ddof=1)
    if spread == 0:
        return 1.0 if middle == 0 else 0.0
    return float(2 * stdtr(len(common) - 1, -middle / spread * np.sqrt(len(common))))


def holm(chances: Sequence[float]) -> list[float]:
    """Return p values corrected by Holm's rule for how many they are; NaN, for what was not tested, stays."""
    corrected = np.array(chances, np.float64)
    tested = np.flatnonzero(~np.isnan(corrected))
    order = tested[np.argsort(corrected[tested], kind="stable")]
    factors = len(order) - np.arange(len(order))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(factors * corrected[order]))
    return corrected.tolist()


def marks(values: Mapping[Name, Seeds]) -> dict[Name, str]:
    """Mark the method with the highest mean as best, those that a test cannot tell from it as tied, others not."""
    means = {name: float(np.mean(list(seeds.values()))) for name, seeds in values.items() if seeds}
    if len(means) < 2:
        return dict.fromkeys(values, "")
    best = max(means, key=lambda name: means[name])
    pairs = list(combinations(means, 2))
    chances = holm([paired(values[one], values[other]) for one, other in pairs])
    alike = {
        name for pair, chance in zip(pairs, chances, strict=True) if best in pair and chance >= LEVEL for name in pair
    }
    alike |= {name for name, mean in means.items() if mean == means[best]}
    return {name: BEST if name == best else TIED if name in alike else "" for name in values}


def tally(cells: Iterable[Mapping[Name, str]]) -> dict[Name, Tally]:
    """Count the marks of every method over cells."""
    counts: dict[Name, Tally] = {}
    for cell in cells:
        for name, mark in cell.items():
            wins, ties = counts.get(name, Tally(0, 0))
            counts[name] = Tally(wins + (mark == BEST), ties + (mark == TIED))
    return counts

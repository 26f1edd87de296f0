"""Methods that pick real patients and train nothing: what a condensed set must beat; a new one is a row in `CORESETS`.

Each takes the prepared inputs of one pool [rows, inputs], how many to pick and a generator, and returns row numbers.
"""

from collections.abc import Callable

import numpy as np

from attar import initial
from attar.initial import Initial

Pick = Callable[[np.ndarray, int, np.random.Generator], np.ndarray]


def random(x: np.ndarray, wanted: int, rng: np.random.Generator) -> np.ndarray:
    """Pick any rows."""
    return rng.choice(len(x), wanted, replace=False)


def herding(x: np.ndarray, wanted: int, rng: np.random.Generator) -> np.ndarray:
    """Pick rows one by one so that their mean stays as close as possible to the mean of all (Welling 2009)."""
    mean, total = x.mean(axis=0, dtype=np.float64), np.zeros(x.shape[1])
    free, picked = np.ones(len(x), bool), []
    for count in range(1, wanted + 1):
        wish = count * mean - total
        gaps = np.where(free, np.sum((x - wish) ** 2, axis=1), np.inf)
        picked.append(int(gaps.argmin()))
        free[picked[-1]] = False
        total += x[picked[-1]]
    return np.array(picked)


def k_centre(x: np.ndarray, wanted: int, rng: np.random.Generator) -> np.ndarray:
    """Pick the row nearest to the mean, then always the row farthest from all picked ones (Gonzalez 1985)."""
    picked = [int(np.sum((x - x.mean(axis=0)) ** 2, axis=1).argmin())]
    gaps = np.full(len(x), np.inf)
    while len(picked) < wanted:
        gaps = np.minimum(gaps, np.sum((x - x[picked[-1]]) ** 2, axis=1))
        gaps[picked] = -1.0
        picked.append(int(gaps.argmax()))
    return np.array(picked)


def everyone(x: np.ndarray, wanted: int, rng: np.random.Generator) -> np.ndarray:
    """Pick all rows, whatever was asked for."""
    return np.arange(len(x))


CORESETS: dict[str, Pick] = {"random": random, "herding": herding, "k-centre": k_centre, "everyone": everyone}


def choose(pick: Pick, x: np.ndarray, y: np.ndarray, per_class: int, rng: np.random.Generator) -> Initial:
    """Pick rows of every class, or with several labels of every label, each row at most once."""
    rows: list[int] = []
    notes = ["This method picks real patients: its table holds rows of the cohort, not synthetic ones."]
    for name, pool, wanted in initial.shares(y, per_class):
        pool = pool[~np.isin(pool, rows)]
        if len(pool) < wanted and pick is not everyone:
            notes.append(f"{name} has only {len(pool)} training rows to pick from, not {wanted}: all were picked.")
        if wanted and len(pool):
            rows += pool[pick(x[pool], min(wanted, len(pool)), rng)].tolist()
    source = np.sort(rows)
    return Initial(x[source], y[source].astype(np.float32), source, tuple(notes))

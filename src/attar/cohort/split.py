"""Divide rows into training, validation and test so that no patient and no copied row is on two sides."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from attar.errors import DataError

TRAIN, VALIDATION = 0.65, 0.15
_BIG_SHARE = 0.01
_BIG_ROWS = 20
_GOLDEN = (np.sqrt(5) - 1) / 2


@dataclass(frozen=True, eq=False)
class Split:
    """Sorted row numbers of the three sides: 65, 15 and 20 %."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def blocks(ids: NDArray[np.int64] | None, contents: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return a block number per row: rows of one id, and rows of equal contents, are in one block, and so on along."""
    copies = np.unique(contents, return_inverse=True)[1].astype(np.int64)
    if ids is None:
        return copies
    patients = np.unique(ids, return_inverse=True)[1]
    nodes = patients.max() + 1 + copies.max() + 1
    edges = (np.ones(len(ids), dtype=np.int8), (patients, patients.max() + 1 + copies))
    component = connected_components(coo_matrix(edges, shape=(nodes, nodes)), directed=False)[1]
    return np.unique(component[patients], return_inverse=True)[1].astype(np.int64)


def big(members: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return per block whether it is too big to be dealt out, and goes to training: over 1 % of rows, and over 20."""
    size = np.bincount(members)
    return size > max(_BIG_SHARE * len(members), _BIG_ROWS)


def split(labels: NDArray[np.int8], members: NDArray[np.int64], seed: int) -> Split:
    """Split by `members`, the block number (0, 1, ...) of each row.

    The stratum of a block is its rarest positive label. Within one, blocks in order of size (equal sizes shuffled) are
    dealt by steps of the golden ratio, which serves all sides evenly from ten blocks on, by count and by size.
    """
    rng = np.random.default_rng(seed)
    stratum = np.where(big(members), -1, _strata(labels, members))
    order = np.lexsort((rng.random(len(stratum)), -np.bincount(members), stratum))
    ranked = stratum[order]
    place = np.empty(len(order))
    place[order] = np.arange(len(order)) - np.searchsorted(ranked, ranked)
    offset = rng.random(labels.shape[1] + 1)
    side = np.searchsorted([TRAIN, TRAIN + VALIDATION], (place * _GOLDEN + offset[stratum]) % 1, side="right")
    row_side = np.where(stratum == -1, 0, side)[members]
    train, validation, test = (np.flatnonzero(row_side == number) for number in range(3))
    return Split(train, validation, test)


def refuse_one_class(labels: NDArray[np.int8], names: Sequence[str], made: Split) -> None:
    """Raise DataError unless each side holds both classes of every target, which scores need."""
    sides = {"training": made.train, "validation": made.validation, "test": made.test}
    for side, rows in sides.items():
        positives = labels[rows].sum(axis=0)
        for name, count in zip(names, positives, strict=True):
            if count in (0, len(rows)):
                raise DataError(
                    f"The {side} rows hold only one class of target {name!r}: too few patients of the other class "
                    "stand alone (rows of one id, and equal rows, stay together). Give more patients, or another seed."
                )


def _strata(labels: NDArray[np.int8], members: NDArray[np.int64]) -> NDArray[np.int64]:
    rarest_first = labels[:, np.argsort(labels.sum(axis=0), kind="stable")] == 1
    of_row = np.where(rarest_first.any(axis=1), rarest_first.argmax(axis=1), labels.shape[1])
    of_block = np.full(members.max() + 1, labels.shape[1])
    np.minimum.at(of_block, members, of_row)
    return of_block

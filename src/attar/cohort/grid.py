"""Irregular measurements on an hourly grid: hour k is (k, k + 1] as in the MIMIC-III benchmark; time 0 is in hour 0."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attar.cohort.schema import Channel

EDGE = 1e-6
"""Hours by which a time may lie beyond an edge of its bin, so that rounding does not move it to the next."""


class Gridded(NamedTuple):
    """What became of the measurements put on a grid."""

    used: int
    outside: int
    doubled: int


def grid(
    values: NDArray[np.float32],
    stays: ArrayLike,
    hours: ArrayLike,
    channels: ArrayLike,
    found: ArrayLike,
    described: Sequence[Channel],
) -> Gridded:
    """Put measurements into `values` [stays, hours, channels] in place; rows may come in any order.

    Within an hour the last value counts, of equal times the last row; a channel with the rule "sum" adds up. All rows
    of a stay must come in one call. Times before 0 or after the last hour are left out and counted; so are rows that
    say a thing twice: the same stay, time and channel as a later one, and where values add up the same value too, since
    two different amounts at one time are two portions.
    """
    stay, channel = np.asarray(stays, np.int64), np.asarray(channels, np.int64)
    time, number = np.asarray(hours, np.float64), np.asarray(found, np.float32)
    measured = np.isfinite(number)
    inside = measured & (time > -EDGE) & (time < values.shape[1] + EDGE)
    outside = int((measured & ~inside).sum())
    stay, channel, time, number = stay[inside], channel[inside], time[inside], number[inside]
    summed = np.array([row.rule == "sum" for row in described], bool)[channel]
    cell, portion = stay * len(described) + channel, np.where(summed, number, 0)
    order = np.lexsort((portion, time, cell))
    ahead, behind = order[1:], order[:-1]
    again = (cell[ahead] == cell[behind]) & (time[ahead] == time[behind]) & (portion[ahead] == portion[behind])
    order = order[np.append(~again, True)] if len(order) else order
    stay, channel, time, number, summed = stay[order], channel[order], time[order], number[order], summed[order]
    hour = np.clip(np.trunc(time - EDGE), 0, values.shape[1] - 1).astype(np.int64)
    values[stay[~summed], hour[~summed], channel[~summed]] = number[~summed]
    if summed.any():
        at = (stay[summed], hour[summed], channel[summed])
        values[at] = np.nan_to_num(values[at])
        np.add.at(values, at, number[summed])
    return Gridded(len(stay), outside, int(again.sum()))

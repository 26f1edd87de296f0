"""Hourly series beside a table of patients: [patients, hours, channels], NaN where nothing was measured."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from attar.cohort.schema import Channel, Kind
from attar.errors import DataError, nearest


@dataclass(frozen=True, eq=False)
class Series:
    """Values [patients, hours, channels] as float32, NaN where not measured; categories are their positions."""

    values: NDArray[np.float32]
    channels: tuple[Channel, ...]

    @property
    def hours(self) -> int:
        """Length of every series."""
        return int(self.values.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """Channel names, in order."""
        return tuple(channel.name for channel in self.channels)

    def take(self, rows: NDArray[np.int64]) -> "Series":
        """Return some patients."""
        return Series(self.values[rows], self.channels)

    def without(self, names: Sequence[str]) -> "Series":
        """Return the series without the channels named."""
        kept = [index for index, name in enumerate(self.names) if name not in names]
        if not kept:
            raise DataError("No channel is left: all were dropped. Drop fewer.")
        return Series(self.values[:, :, kept], tuple(self.channels[index] for index in kept))

    def hashes(self) -> NDArray[np.uint64]:
        """Return a hash per patient: equal series, equal hash."""
        flat = np.ascontiguousarray(self.values).reshape(len(self.values), -1)
        weights = np.random.default_rng(0).integers(1, 2**63, flat.shape[1], dtype=np.uint64) | np.uint64(1)
        total = np.zeros(len(flat), np.uint64)
        for at in range(0, len(flat), 1024):
            part = flat[at : at + 1024]
            bits = np.where(np.isnan(part), np.float32(-0.0), part + np.float32(0.0)).view(np.uint32)
            total[at : at + 1024] = (bits.astype(np.uint64) * weights).sum(axis=1, dtype=np.uint64)
        return total


def check(series: Series, rows: int) -> tuple[Series, tuple[str, ...]]:
    """Raise DataError for series that cannot be used; return them without empty channels, and what was said."""
    values, names = series.values, series.names
    if values.ndim != 3 or values.shape[2] != len(names) or len(values) != rows:
        raise DataError(
            f"The series have shape {values.shape}; [patients, hours, channels] with {rows} patients and {len(names)} "
            "channels is needed."
        )
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"Two channels are named {twice!r}. Rename one.")
    for channel, column in zip(series.channels, np.moveaxis(values, 2, 0), strict=True):
        if np.isinf(column).any():
            raise DataError(f"Channel {channel.name!r} holds infinite values. Write NaN in place of each.")
        found = column[np.isfinite(column)]
        if channel.kind == "categorical" and len(found):
            whole = bool((found == np.floor(found)).all())
            if not whole or found.min() < 0 or found.max() >= len(channel.values):
                raise DataError(
                    f"Channel {channel.name!r} is categorical with {len(channel.values)} categories: its values are "
                    f"their positions, 0 to {len(channel.values) - 1}, but others were found."
                )
    empty = [name for index, name in enumerate(names) if np.isnan(values[:, :, index]).all()]
    said = tuple(f"Channel {name!r} was never measured and was left out." for name in empty)
    return (series.without(empty) if empty else series), said


def from_arrays(values: ArrayLike, channels: Sequence[Channel | str] | None = None) -> Series:
    """Make series of an array [patients, hours, channels]; channels are c0, c1, ... where they have no names.

    A name alone is a channel of numbers: whole ones if all are whole, yes/no if there are two.
    """
    array = np.asarray(values, np.float32)
    if array.ndim != 3:
        raise DataError(f"The series have shape {array.shape}; [patients, hours, channels] is needed.")
    given = channels if channels is not None else [f"c{index}" for index in range(array.shape[2])]
    if len(given) != array.shape[2]:
        raise DataError(f"{len(given)} channels are named, but the series have {array.shape[2]}.")
    described = [
        channel if isinstance(channel, Channel) else Channel(name=channel, kind=_kind(array[:, :, index]))
        for index, channel in enumerate(given)
    ]
    return Series(array, tuple(described))


def _kind(column: NDArray[np.float32]) -> Kind:
    found = pd.unique(column[np.isfinite(column)])
    if len(found) == 2:
        return "binary"
    return "integer" if len(found) and bool((found == np.floor(found)).all()) else "numeric"


def split_drop(
    series: Series | None, drop: tuple[str, ...], columns: Sequence[str]
) -> tuple[tuple[str, ...], list[str]]:
    """Divide dropped names into columns and channels; refuse those that are neither."""
    names = series.names if series else ()
    for name in drop:
        if name not in columns and name not in names:
            raise DataError(
                f"{name!r}, named as dropped, is neither a column nor a channel.{nearest(name, [*columns, *names])}"
            )
    return tuple(name for name in drop if name in columns), [name for name in drop if name in names]

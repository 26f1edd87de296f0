"""From hourly series to float arrays and back: fill forward, standardise what was observed, add masks.

A row is hour after hour the channels (categories one-hot) and then a mask for each channel, 1 where it was measured in
that hour; after the hours come the columns that do not change over time.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from attar.cohort.schema import Channel, Column, Schema, infer
from attar.cohort.series import Series
from attar.models.layout import Layout
from attar.prepare.table import Feature, Preparation, fit, fit_column


@dataclass(frozen=True, eq=False)
class Stays:
    """Values [patients, hours, channels] and the columns that do not change over time.

    `observed` [patients, hours, channels] says which values were measured, possibly as a probability; without it,
    those that are not NaN.
    """

    values: NDArray[np.float32]
    frame: pd.DataFrame
    observed: NDArray[np.float32] | None = None


class SeriesPreparation(BaseModel):
    """The fitted step between series and their arrays; saved as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hours: int
    channels: tuple[Channel, ...]
    hourly: Preparation
    static: Preparation

    @property
    def layout(self) -> Layout:
        """How a row lies."""
        return Layout(self.hours, self.hourly.width + len(self.channels), self.static.width)

    @property
    def width(self) -> int:
        """How many array columns there are."""
        return self.layout.width

    @property
    def features(self) -> tuple[Feature, ...]:
        """What each channel and each column becomes."""
        return self.hourly.features + self.static.features

    @property
    def hour_names(self) -> tuple[str, ...]:
        """Names of the inputs of one hour: 'HR', 'GCS eye-4 Spontaneously', 'mask-HR'."""
        parts = [
            f"{channel.name}-{channel.values[int(value)]}" if feature.kind == "categorical" else channel.name
            for channel, feature in zip(self.channels, self.hourly.features, strict=True)
            for value in (feature.values if feature.kind == "categorical" else (0,))
        ]
        return (*parts, *(f"mask-{channel.name}" for channel in self.channels))

    @property
    def names(self) -> tuple[str, ...]:
        """Array column names: 'HR@0', ..., 'mask-HR@47', 'age'."""
        return (*(f"{name}@{hour}" for hour in range(self.hours) for name in self.hour_names), *self.static.names)

    def transform(self, stays: Stays) -> NDArray[np.float32]:
        """Return rows as float32 [patients, width]; gaps are filled forward, and before that with the median."""
        rows, hours, channels = stays.values.shape
        observed = ~np.isnan(stays.values) if stays.observed is None else stays.observed
        filled = pd.DataFrame(
            forward(stays.values).reshape(rows * hours, channels), columns=[channel.name for channel in self.channels]
        )
        values = self.hourly.transform(filled).reshape(rows, hours, -1)
        moving = np.concatenate([values, observed.astype(np.float32)], axis=2).reshape(rows, -1)
        return np.concatenate([moving, self.static.transform(stays.frame)], axis=1)

    def inverse(self, array: NDArray[Any]) -> Stays:
        """Return rows in the channels' own units, every hour with a value, and how likely each was measured."""
        rows, layout = len(array), self.layout
        moving = np.asarray(array[:, : layout.hours * layout.channels]).reshape(rows * layout.hours, layout.channels)
        values = self.hourly.inverse(moving[:, : self.hourly.width]).to_numpy(np.float32)
        observed = np.clip(moving[:, self.hourly.width :], 0.0, 1.0).astype(np.float32)
        shape = (rows, layout.hours, len(self.channels))
        frame = self.static.inverse(array[:, layout.hours * layout.channels :])
        return Stays(values.reshape(shape), frame, observed.reshape(shape))


def fit_series(series: Series, frame: pd.DataFrame, schema: Schema, clip: float, indicators: bool) -> SeriesPreparation:
    """Learn medians, means, scales and ranges from what was observed in training patients."""
    features = []
    for channel, column in zip(series.channels, np.moveaxis(series.values, 2, 0), strict=True):
        found = pd.Series(column[~np.isnan(column)].astype(np.float64), name=channel.name)
        features.append(fit_column(found, describe(channel, found), clip, False))
    hourly = Preparation(features=tuple(features), clip=clip, indicators=False)
    static = fit(frame, schema, clip, indicators)
    return SeriesPreparation(hours=series.hours, channels=series.channels, hourly=hourly, static=static)


def describe(channel: Channel, found: pd.Series) -> Column:
    """Return the column that an hour of a channel is; categories are the positions of their names."""
    if channel.kind == "categorical":
        positions = tuple(float(position) for position in range(len(channel.values)))
        return Column(name=channel.name, kind="categorical", dtype="float64", values=positions)
    kind = channel.kind if channel.kind != "binary" or found.nunique() == 2 else "numeric"
    return infer(found, kind) if len(found) else Column(name=channel.name, kind="numeric", dtype="float64")


def forward(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return values [patients, hours, channels] with each gap filled with the last value before it."""
    hours = np.arange(values.shape[1], dtype=np.int32)[None, :, None]
    last = np.maximum.accumulate(np.where(np.isnan(values), 0, hours), axis=1)
    return np.take_along_axis(values, last, axis=1)

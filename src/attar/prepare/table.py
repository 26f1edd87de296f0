"""From a table to float arrays and back: impute, encode, standardise, clip, all fitted on the training rows."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from attar.cohort.schema import Column, Kind, Scalar, Schema, is_number, numbers, restore
from attar.errors import DataError
from attar.models.layout import Layout
from attar.models.layout import table as table_layout

_KEPT_ANYWAY = 20
_FEWEST_ROWS = 20
_LEAST_SHARE = 0.001
_HEAVIEST = 8


class Feature(BaseModel):
    """How one column becomes array columns.

    `median` fills gaps (the most frequent value of a binary or categorical column). `mean` and `scale` hold one number
    per array column. `low` and `high` are the ends of the training range; of a binary or categorical column, those of
    its 0/1 code. `values` of a categorical column are those common in training; any other counts as missing.
    `indicator` is the mean and scale of the array column that says the value is missing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    column: str
    kind: Kind
    dtype: str
    values: tuple[Scalar, ...]
    levels: tuple[Scalar, ...]
    ordered: bool
    median: Scalar
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    low: float
    high: float
    indicator: tuple[float, float] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether its number, or the 0/1 code of a binary column, is a whole one."""
        return self.kind == "binary" or _is_whole(self.kind, self.dtype)


class Preparation(BaseModel):
    """The fitted step between a table and its arrays; saved as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    features: tuple[Feature, ...]
    clip: float
    indicators: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Array column names: 'age', 'race=asian', and at the end 'ph missing'."""
        parts = [
            f"{feature.column}={value}" if feature.kind == "categorical" else feature.column
            for feature in self.features
            for value in (feature.values if feature.kind == "categorical" else (None,))
        ]
        return (*parts, *(f"{feature.column} missing" for feature in self.features if feature.indicator))

    @property
    def layout(self) -> Layout:
        """How a row lies: nothing in it changes over time."""
        return table_layout(self.width)

    @property
    def width(self) -> int:
        """How many array columns there are."""
        return sum(len(feature.mean) + (feature.indicator is not None) for feature in self.features)

    def transform(self, frame: pd.DataFrame) -> NDArray[np.float32]:
        """Return rows as float32 [rows, width]; a category rare or not seen in training counts as missing."""
        result = np.empty((len(frame), self.width), dtype=np.float32)
        at, gap = 0, self.width - sum(feature.indicator is not None for feature in self.features)
        for feature in self.features:
            if feature.column not in frame:
                raise DataError(f"The table has no column {feature.column!r}, which the training table had. Add it.")
            raw = _raw(frame[feature.column], feature.kind, feature.dtype, feature.values)
            missing = np.isnan(raw)
            fill = feature.values.index(feature.median) if feature.values else feature.median
            parts = _parts(np.where(missing, fill, raw), feature.kind, len(feature.values))
            here = slice(at, at + len(feature.mean))
            result[:, here] = np.clip((parts - feature.mean) / feature.scale, -self.clip, self.clip)
            at = here.stop
            if feature.indicator:
                mean, scale = feature.indicator
                result[:, gap] = (missing - mean) / scale
                gap += 1
        return result

    def inverse(self, array: NDArray[Any]) -> pd.DataFrame:
        """Return rows in the table's own columns, units and dtypes, every value one that training could have held."""
        values = np.asarray(array, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != self.width or not np.isfinite(values).all():
            raise ValueError(f"expected finite values of shape [rows, {self.width}], got {values.shape}")
        columns: dict[str, pd.Series] = {}
        at, gap = 0, self.width - sum(feature.indicator is not None for feature in self.features)
        for feature in self.features:
            missing = np.zeros(len(values), dtype=bool)
            if feature.indicator:
                mean, scale = feature.indicator
                missing = values[:, gap] * scale + mean > 0.5
                gap += 1
            here = slice(at, at + len(feature.mean))
            columns[feature.column] = _decode(feature, values[:, here], missing, self.clip)
            at = here.stop
        return pd.DataFrame(columns, index=range(len(values)))

    def bounds(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the lowest and highest prepared value of each array column that training rows can reach."""
        ends = [
            ((feature.low - mean) / scale, (feature.high - mean) / scale)
            for feature in self.features
            for mean, scale in zip(feature.mean, feature.scale, strict=True)
        ]
        gaps = [feature.indicator for feature in self.features if feature.indicator]
        ends += [(-mean / scale, (1 - mean) / scale) for mean, scale in gaps]
        low, high = np.clip(np.array(ends).reshape(-1, 2), -self.clip, self.clip).T.astype(np.float32)
        return low, high


def fit(frame: pd.DataFrame, schema: Schema, clip: float = 5.0, indicators: bool = False) -> Preparation:
    """Learn medians, means, scales and ranges from training rows; `indicators` adds a column for each with gaps."""
    features = tuple(fit_column(frame[column.name], column, clip, indicators) for column in schema.columns)
    return Preparation(features=features, clip=clip, indicators=indicators)


def fit_column(series: pd.Series, column: Column, clip: float, indicators: bool) -> Feature:
    """Learn how one column becomes array columns."""
    values = column.values
    raw = _raw(series, column.kind, column.dtype, values)
    missing = np.isnan(raw)
    present = raw[~missing]
    if not len(present):
        raise DataError(
            f"Column {column.name!r} has no value in the training rows. Leave it out with --drop (drop=), or take "
            "another seed."
        )
    if column.kind == "categorical":
        values = tuple(values[code] for code in _common(present))
        raw = _raw(series, column.kind, column.dtype, values)
        missing = np.isnan(raw)
    fill = _middle(raw[~missing], column)
    parts = _parts(np.where(missing, fill, raw), column.kind, len(values))
    mean = parts.mean(axis=0)
    scale = parts.std(axis=0)
    flat = (parts.min(axis=0) == parts.max(axis=0)) | (scale < 1e-100)
    mean[flat] = parts[0, flat]
    if values:
        # Each standardised by itself, the inputs of a hundred wards would drown those of all other columns.
        scale = _roomy(mean, scale, clip) * np.sqrt(max(1.0, len(mean) / _HEAVIEST))
    share = missing.mean(keepdims=True)
    gaps = indicators and len(present) < len(raw)
    return Feature(
        column=column.name,
        kind=column.kind,
        dtype=column.dtype,
        values=values,
        levels=column.levels,
        ordered=column.ordered,
        median=values[int(fill)] if values else fill,
        mean=tuple(mean.tolist()),
        scale=tuple(np.where(flat, 1.0, scale).tolist()),
        low=0.0 if column.kind == "categorical" else float(present.min()),
        high=1.0 if column.kind == "categorical" else float(present.max()),
        indicator=(float(share[0]), float(_roomy(share, missing.std(keepdims=True), clip)[0])) if gaps else None,
    )


def unknown(series: pd.Series, feature: Feature) -> NDArray[np.bool_]:
    """Return which rows have a value that a binary or categorical feature does not know: rare or not in training."""
    if not feature.values:
        return np.zeros(len(series), bool)
    known = _raw(series, feature.kind, feature.dtype, feature.values)
    return series.notna().to_numpy() & np.isnan(known)


def _raw(series: pd.Series, kind: Kind, dtype: str, values: tuple[Scalar, ...]) -> NDArray[np.float64]:
    """Return numbers, or the position of each value in `values`, as float64; NaN where missing or unknown."""
    if not values:
        if not is_number(series):
            raise DataError(f"Column {series.name!r} is {kind} but holds {series.dtype}. Convert it to numbers.")
        return numbers(series)
    if is_number(series) and all(type(value) in (int, float) for value in values):
        # Written to CSV and read back, a float32 comes as the float64 of the same digits.
        precision = np.float32 if dtype.lower() == "float32" else np.float64
        codes = pd.Index(np.array(values, dtype=precision)).get_indexer(numbers(series).astype(precision))
    else:
        codes = pd.Index(list(values), dtype=object).get_indexer(series.astype(object))
    positions: NDArray[np.float64] = codes.astype(np.float64)
    positions[positions < 0] = np.nan
    return positions


def _parts(raw: NDArray[np.float64], kind: Kind, categories: int) -> NDArray[np.float64]:
    if kind == "categorical":
        return np.eye(categories)[raw.astype(np.int64)]
    return raw[:, None]


def _common(present: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the codes common enough for an array column of their own.

    What a category of a few patients seems to teach holds for nobody else, and the category may name them.
    """
    codes, counts = np.unique(present, return_counts=True)
    rank = np.argsort(np.argsort(-counts, kind="stable"))
    common = (rank < _KEPT_ANYWAY) | (counts >= max(_FEWEST_ROWS, _LEAST_SHARE * len(present)))
    return codes[common].astype(np.int64)


def _middle(present: NDArray[np.float64], column: Column) -> float:
    """Return the most frequent code, or the median, a whole one where all values are whole."""
    if column.values:
        return float(np.bincount(present.astype(np.int64)).argmax())
    median = np.median(present)
    return float(np.rint(median) if _is_whole(column.kind, column.dtype) else median)


def _roomy(share: NDArray[np.float64], scale: NDArray[np.float64], clip: float) -> NDArray[np.float64]:
    """Widen the scale of a 0/1 column so that neither value, however rare, reaches the clip."""
    return np.maximum(scale, np.maximum(share, 1 - share) / clip)


def _is_whole(kind: Kind, dtype: str) -> bool:
    return kind == "integer" or "int" in dtype.lower()


def _decode(feature: Feature, scaled: NDArray[np.float64], missing: NDArray[np.bool_], clip: float) -> pd.Series:
    raw = scaled * feature.scale + feature.mean
    if feature.kind == "categorical":
        codes = raw.argmax(axis=1)
    elif feature.kind == "binary":
        codes = np.clip(np.rint(raw[:, 0]), feature.low, feature.high).astype(np.int64)
    else:
        found = raw[:, 0]
        if _is_whole(feature.kind, feature.dtype):
            # A clipped value goes to the whole number beyond the clip, so that preparing it again clips it again.
            outward = np.where(scaled[:, 0] > 0, np.ceil(found), np.floor(found))
            found = np.where(np.abs(scaled[:, 0]) >= clip * (1 - 1e-6), outward, np.rint(found))
        found = np.clip(found, feature.low, feature.high) + 0.0  # rounding leaves -0.0
        return restore(np.where(missing, np.nan, found) if missing.any() else found, feature.dtype)
    chosen = np.array(feature.values, dtype=object)[codes]
    chosen[missing] = None
    return restore(chosen, feature.dtype, feature.levels, feature.ordered)

"""Another cohort seen through a run's own preparation: columns and channels matched by name, differences listed."""

from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attar.cohort.checks import plain
from attar.cohort.origin import Origin, find
from attar.cohort.schema import Channel, Schema
from attar.cohort.series import Series
from attar.errors import DataError, nearest
from attar.prepare import AnyPreparation, Preparation, SeriesPreparation, Stays, unknown
from attar.store import Run

Differences = dict[str, list[str]]


@dataclass(frozen=True, eq=False)
class Other:
    """Rows of another cohort as a run's networks see them, and in what they differ from the run's own."""

    name: str
    x: NDArray[np.float32]
    y: NDArray[np.float32]
    differences: Differences = field(default_factory=dict)


def read(source: str | Path, schema: Schema, preparation: AnyPreparation) -> Other:
    """Read another cohort with the run's targets; what it lacks counts as missing, what it has beyond is not used."""
    found = find(source)
    differences: Differences = {}
    y = outcomes(found, schema)
    known = ~np.asarray(np.isnan(y).any(axis=1))
    if not known.any():
        raise DataError(f"No row of {source} has an outcome. Give a cohort whose outcomes are known.")
    if not known.all():
        differences["rows left out"] = [f"{(~known).sum()} of {len(known)} lack an outcome"]
    if isinstance(preparation, Preparation):
        x = preparation.transform(columns(found, schema, preparation, differences).loc[known])
    else:
        frame = columns(found, schema, preparation.static, differences).loc[known]
        x = preparation.transform(Stays(channels(found.series, preparation, source, differences)[known], frame))
    for name, values in zip((t.name for t in schema.targets), y[known].T, strict=True):
        if len(np.unique(values)) < 2:
            raise DataError(f"All rows of {source} have the same {name!r}: nothing can be scored there.")
    return Other(found.name, x, y[known].astype(np.float32), differences)


def file(name: str) -> str:
    """Return the file of a run that holds the scores on another cohort."""
    return f"external-{name}.json"


def free_name(run: Run, name: str, source: str) -> str:
    """Return the name under which scores are kept: those on another file of the same name stay."""
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(n for n in names if not run.has(file(n)) or run.read_json(file(n))["source"] == source)


def outcomes(found: Origin, schema: Schema) -> NDArray[np.float64]:
    """Return the run's targets as 0/1 labels [rows, targets], NaN where unknown."""
    labels = []
    for target in schema.targets:
        if target.name not in found.frame:
            raise DataError(
                f"The other cohort has no column {target.name!r}, the run's target."
                f"{nearest(target.name, [str(name) for name in found.frame.columns])} Rename it there."
            )
        column = found.frame[target.name]
        positive, negative = (column.isin([value]).to_numpy(bool) for value in (target.positive, target.negative))
        strange = column.notna().to_numpy() & ~positive & ~negative
        if strange.any():
            raise DataError(
                f"Target {target.name!r} of the other cohort has values beside {target.negative!r} and "
                f"{target.positive!r}, first in row {int(np.flatnonzero(strange)[0]) + 1}. Write it as the run's was."
            )
        labels.append(np.where(positive, 1.0, np.where(negative, 0.0, np.nan)))
    return np.stack(labels, axis=1)


def columns(found: Origin, schema: Schema, preparation: Preparation, differences: Differences) -> pd.DataFrame:
    """Return the run's columns in the other cohort's rows, empty where it has none."""
    wanted = [feature.column for feature in preparation.features]
    have = [str(name) for name in found.frame.columns]
    other = {found.id, schema.id, *found.groups, *schema.groups, *found.targets, *(t.name for t in schema.targets)}
    _list(differences, "columns it lacks, taken as missing", [name for name in wanted if name not in have])
    _list(differences, "columns not used", [name for name in have if name not in wanted and name not in other])
    frame = found.frame.set_axis(have, axis=1)
    frame = pd.DataFrame({name: plain(frame[name]) if name in have else np.nan for name in wanted}, index=frame.index)
    strange = {feature.column: int(unknown(frame[feature.column], feature).sum()) for feature in preparation.features}
    rows = [f"{name} ({count} of {len(frame)} rows)" for name, count in strange.items() if count]
    _list(differences, "columns with values the run does not know, taken as missing", rows)
    return frame


def channels(
    series: Series | None, preparation: SeriesPreparation, source: str | Path, differences: Differences
) -> NDArray[np.float32]:
    """Return the run's channels and hours of the other cohort's series, NaN where it has none."""
    if series is None:
        raise DataError(f"The run was made from hourly series, but {source} is a table. Prepare its series first.")
    if series.hours < preparation.hours:
        raise DataError(
            f"The series of {source} are {series.hours} hours long, those of the run {preparation.hours}. Prepare them "
            f"with --hours {preparation.hours}."
        )
    wanted = [channel.name for channel in preparation.channels]
    _list(differences, "channels it lacks, taken as not measured", [n for n in wanted if n not in series.names])
    _list(differences, "channels not used", [name for name in series.names if name not in wanted])
    if series.hours > preparation.hours:
        differences["hours not used"] = [f"after hour {preparation.hours}"]
    values = np.full((len(series.values), preparation.hours, len(wanted)), np.nan, np.float32)
    for at, channel in enumerate(preparation.channels):
        if channel.name in series.names:
            index = series.names.index(channel.name)
            here = series.values[:, : preparation.hours, index]
            values[:, :, at] = _recoded(here, series.channels[index], channel, differences)
    return values


def _recoded(
    values: NDArray[np.float32], theirs: Channel, ours: Channel, differences: Differences
) -> NDArray[np.float32]:
    if ours.unit and theirs.unit and ours.unit != theirs.unit:
        raise DataError(
            f"Channel {ours.name!r} is in {theirs.unit} there and in {ours.unit} in the run. Convert it first."
        )
    if (ours.kind == "categorical") != (theirs.kind == "categorical"):
        raise DataError(
            f"Channel {ours.name!r} is {theirs.kind} there and {ours.kind} in the run. Write it as the run's was."
        )
    if ours.kind != "categorical" or ours.values == theirs.values:
        return values
    others = [value for value in theirs.values if value not in ours.values]
    _list(differences, f"categories of {ours.name} the run has not seen, taken as not measured", others)
    positions = np.array(
        [ours.values.index(value) if value in ours.values else np.nan for value in theirs.values], np.float32
    )
    missing = np.isnan(values)
    return np.where(missing, np.nan, positions[np.where(missing, 0, values).astype(np.int64)]).astype(np.float32)


def _list(differences: Differences, words: str, names: list[str]) -> None:
    if names:
        differences[words] = names

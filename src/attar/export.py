"""Condensed patients as the files that are handed out, and those files read back as a receiver would.

A table is one file. Series are a long table with a row for each patient, hour and channel, a table of what does not
change over time with the outcomes, and all of it as arrays (npz).
"""

import io
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from attar.cohort.schema import Target
from attar.prepare import AnyPreparation, Preparation, SeriesPreparation, Stays
from attar.store import Run

Set = tuple[np.ndarray, np.ndarray]


def write(run: Run, preparation: AnyPreparation, targets: tuple[Target, ...], x: np.ndarray, y: np.ndarray) -> None:
    """Write the condensed patients in the cohort's own columns and units; condensed.parquet comes last."""
    tables = as_tables(preparation, targets, x, y)
    if isinstance(preparation, SeriesPreparation):
        run.write("condensed.npz", packed(preparation, targets, tables, y))
    for name in sorted(tables, key=lambda name: name == "condensed"):
        run.write_table(f"{name}.csv", tables[name])
        run.write_table(f"{name}.parquet", tables[name])


def read(run: Run, preparation: AnyPreparation, targets: tuple[Target, ...]) -> Set:
    """Return x and y of the exported tables: what a receiver of them trains on."""
    condensed = run.read_table("condensed.parquet")
    if isinstance(preparation, Preparation):
        return preparation.transform(condensed), labels(targets, condensed)
    patients = run.read_table("patients.parquet")
    stays = Stays(cells(preparation, condensed, "value"), patients, cells(preparation, condensed, "observed"))
    return preparation.transform(stays), labels(targets, patients)


def cells(preparation: SeriesPreparation, table: pd.DataFrame, column: str) -> np.ndarray:
    """Return a column of the long table as an array [patients, hours, channels]."""
    return table[column].to_numpy(np.float32).reshape(-1, preparation.hours, len(preparation.channels))


def labels(targets: tuple[Target, ...], frame: pd.DataFrame) -> np.ndarray:
    """Return the 0/1 labels [rows, targets] of a table."""
    return np.stack([(frame[t.name] == t.positive).to_numpy() for t in targets], axis=1).astype(np.float32)


def as_tables(
    preparation: AnyPreparation, targets: tuple[Target, ...], x: np.ndarray, y: np.ndarray
) -> dict[str, pd.DataFrame]:
    """Return {"condensed": a table with the targets last}; of series, the long table and one of "patients"."""
    if isinstance(preparation, Preparation):
        return {"condensed": with_targets(preparation.inverse(x), targets, y)}
    stays = preparation.inverse(x)
    return {"condensed": long_table(preparation, stays), "patients": with_targets(stays.frame, targets, y)}


def with_targets(frame: pd.DataFrame, targets: tuple[Target, ...], y: np.ndarray) -> pd.DataFrame:
    """Return a table with the targets last.

    Learned labels between 0 and 1 follow in a column of their own; the target itself has the nearer of its two values.
    """
    frame, hard = frame.copy(), np.rint(y)
    for index, target in enumerate(targets):
        frame[target.name] = target.decode(hard[:, index])
    for index, target in enumerate(targets):
        if (hard[:, index] != y[:, index]).any():
            name = f"{target.name}_soft"
            while name in frame:
                name += "_"
            frame[name] = y[:, index].astype(np.float64)
    return frame


def long_table(preparation: SeriesPreparation, stays: Stays) -> pd.DataFrame:
    """Return a row for each patient, hour and channel: its value in its own unit, and whether it was measured then.

    `observed` is 0 or 1, `probability` what it was rounded from; a value that was not observed is what stands in for
    it. The name of a category is in `category`.
    """
    patients, hours, channels = stays.values.shape
    names = pd.Categorical.from_codes(
        np.tile(np.arange(channels), patients * hours), [channel.name for channel in preparation.channels]
    )
    assert stays.observed is not None
    probability = stays.observed.ravel()
    table = pd.DataFrame(
        {
            "patient": np.repeat(np.arange(patients), hours * channels),
            "hour": np.tile(np.repeat(np.arange(hours), channels), patients),
            "channel": names,
            "value": stays.values.ravel(),
            "observed": np.rint(probability).astype(np.int8),
            "probability": probability,
        }
    )
    categorical = [index for index, channel in enumerate(preparation.channels) if channel.kind == "categorical"]
    if categorical:
        words = np.full(stays.values.shape, None, dtype=object)
        for index in categorical:
            known = np.array(preparation.channels[index].values, dtype=object)
            words[:, :, index] = known[stays.values[:, :, index].astype(np.int64)]
        table["category"] = pd.Series(words.ravel(), dtype="str")
    return table


def packed(
    preparation: SeriesPreparation, targets: tuple[Target, ...], tables: dict[str, pd.DataFrame], y: np.ndarray
) -> bytes:
    """Return the tables as arrays, for NumPy: values, observed, probability [patients, hours, channels], y, names."""
    taken, buffer = partial(cells, preparation, tables["condensed"]), io.BytesIO()
    arrays: dict[str, Any] = {
        "values": taken("value"),
        "observed": taken("observed").astype(np.int8),
        "probability": taken("probability"),
        "channels": np.array([channel.name for channel in preparation.channels]),
        "y": y,
        "targets": np.array([target.name for target in targets]),
        "static": preparation.static.transform(tables["patients"]),
        "static_names": np.array(preparation.static.names, dtype="U"),
    }
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()

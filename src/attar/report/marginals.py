"""What the patients look like beside the real ones, column by column, so coarsely that it tells nothing of anyone.

Ranges end where at least `FEWEST` real patients and one in a hundred lie beyond, numbers are rounded, bins with fewer
real patients are joined to the next, and values that fewer have are counted together, without their names.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attar.cohort import Cohort, Split
from attar.cohort.schema import Column, numbers
from attar.prepare.series import forward
from attar.report.source import Facts, Source, rounded

FEWEST = 10
"""Real patients below which nothing is said."""

BINS, VALUES, CHANNELS = 14, 8, 12
"""Bins of a number, values of a category that stand by name, channels of series."""

Numbers = NDArray[np.float64]


def describe(cohort: Cohort, split: Split, tables: Mapping[str, pd.DataFrame]) -> Facts:
    """Return summaries of the training patients beside those of the exported tables: what marginals.json holds."""
    patients = tables.get("patients", tables["condensed"])
    real = cohort.frame.iloc[split.train]
    columns = [beside(column, real[column.name], patients[column.name]) for column in cohort.schema.columns]
    return {"fewest": FEWEST, "columns": columns, **hourly(cohort, split, tables["condensed"])}


def facts(source: Source) -> Facts | None:
    """Return the summaries in the run folder; None without them, or if the patients are real ones."""
    if source.method.choose or not source.run.has("marginals.json"):
        return None
    found: Facts = source.run.read_json("marginals.json")
    return found


def beside(column: Column, real: pd.Series, condensed: pd.Series) -> Facts:
    """Return one column of real and of condensed patients; `withheld` if too few real ones have a value."""
    described: Facts = {"name": column.name, "kind": column.kind}
    if real.notna().sum() < 4 * FEWEST:
        return described | {"withheld": True}
    missing = {"real": _share_or_none(int(real.isna().sum()), len(real)), "condensed": rounded(condensed.isna().mean())}
    shape = categories if column.values else histogram
    return described | {"missing": missing} | shape(column, real.dropna(), condensed.dropna())


def histogram(column: Column, real: pd.Series, condensed: pd.Series) -> Facts:
    """Return shares per bin, and quartiles, of a number."""
    theirs, ours = numbers(real), numbers(condensed)
    edges = joined(edges_between(*inner_range(theirs), column.kind == "integer"), theirs)
    ends = edges[0], edges[-1]
    return {
        "edges": [rounded(edge, 10) for edge in edges],
        "real": _shares(theirs, edges),
        "condensed": _shares(ours, edges),
        "quartiles": {"real": _quartiles(np.clip(theirs, *ends)), "condensed": _quartiles(np.clip(ours, *ends))},
    }


def inner_range(values: Numbers) -> tuple[float, float]:
    """Return the 1st and 99th percentile to a hundredth of what is between, further in if few lie beyond."""
    beyond = max(0.01, FEWEST / len(values))
    low, high = np.quantile(values, [min(beyond, 0.5), max(1 - beyond, 0.5)])
    places = 2 - int(np.floor(np.log10(high - low))) if high > low else 3
    return round(float(low), places), round(float(high), places)


def edges_between(low: float, high: float, whole: bool) -> Numbers:
    """Return the edges of equal bins; of whole numbers, halfway between two."""
    if whole:
        width = max(1, int(np.ceil((high - low + 1) / BINS)))
        return np.arange(np.floor(low), np.ceil(high) + width + 0.5, width) - 0.5
    if high <= low:
        low, high = low - 0.5, low + 0.5
    return np.linspace(low, high, BINS + 1)


def joined(edges: Numbers, values: Numbers) -> Numbers:
    """Return the edges without those that would leave fewer than `FEWEST` values in a bin."""
    kept = [edges[0]]
    inside = np.sort(np.clip(values, edges[0], edges[-1]))
    for edge in edges[1:-1]:
        here = np.searchsorted(inside, edge) - np.searchsorted(inside, kept[-1])
        left = len(inside) - np.searchsorted(inside, edge)
        if here >= FEWEST and left >= FEWEST:
            kept.append(edge)
    return np.array([*kept, edges[-1]])


def categories(column: Column, real: pd.Series, condensed: pd.Series) -> Facts:
    """Return the share of each value, the commonest first; rare ones and those beyond `VALUES` together."""
    counts = {value: int((real == value).sum()) for value in column.values}
    ranked = sorted(counts, key=lambda value: -counts[value]) if column.kind == "categorical" else list(counts)
    named = [value for value in ranked if counts[value] >= FEWEST][:VALUES]
    pooled = [value for value in ranked if value not in named]
    rest = sum(counts[value] for value in pooled)
    shown = sum(counts[value] for value in named) + (rest if rest >= FEWEST else 0)
    real_shares = [rounded(counts[value] / shown) for value in named]
    our_shares = [rounded(float((condensed == value).mean())) for value in named]
    names = [f"{value:g}" if isinstance(value, float) else str(value) for value in named]
    if pooled:
        rare = all(counts[value] < FEWEST for value in pooled)
        names.append(f"other (fewer than {FEWEST})" if rare else "all other values")
        real_shares.append(rounded(rest / shown) if rest >= FEWEST else None)
        our_shares.append(rounded(float(condensed.isin(pooled).mean())))
    return {"values": names, "real": real_shares, "condensed": our_shares}


def hourly(cohort: Cohort, split: Split, table: pd.DataFrame) -> Facts:
    """Return mean by hour of the channels most often measured, as networks see them: the last value carried forward."""
    series = cohort.series
    if series is None:
        return {}
    shape = (-1, series.hours, len(series.channels))
    ours, measured_ours = (table[name].to_numpy(np.float64).reshape(shape) for name in ("value", "observed"))
    found: list[tuple[float, Facts]] = []
    for index, channel in enumerate(series.channels):
        values = series.values[split.train, :, index]
        measured = ~np.isnan(values)
        if channel.kind == "categorical" or measured.any(axis=1).sum() < 4 * FEWEST:
            continue
        low, high = inner_range(values[measured].astype(np.float64))
        filled = forward(values[:, :, None])[:, :, 0]
        filled = np.clip(np.where(np.isnan(filled), np.median(values[measured]), filled), low, high)
        often = float(measured.mean())
        described = {
            "name": channel.name,
            "unit": channel.unit,
            "measured": {"real": rounded(often, 3), "condensed": rounded(measured_ours[:, :, index].mean(), 3)},
            "real": [rounded(value) for value in filled.mean(axis=0, dtype=np.float64)],
            "condensed": [rounded(value) for value in np.clip(ours[:, :, index], low, high).mean(axis=0)],
        }
        found.append((often, described))
    found.sort(key=lambda pair: -pair[0])
    channels: list[Any] = [described for _, described in found[:CHANNELS]]
    return {"hours": series.hours, "channels": channels, "channels_of": len(series.channels)}


def _shares(values: Numbers, edges: Numbers) -> list[float | None]:
    counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
    return [rounded(count / max(len(values), 1)) for count in counts]


def _quartiles(values: Numbers) -> list[float | None]:
    return [rounded(value) for value in np.quantile(values, [0.25, 0.5, 0.75])] if len(values) else []


def _share_or_none(count: int, rows: int) -> float | None:
    return rounded(count / rows, 3) if count >= FEWEST or not count else None

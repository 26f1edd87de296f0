"""The nearest row that a cohort can hold, inside jit: values in their range, whole numbers whole, one category each.

Condensed patients that are optimised as what they will be exported as lose nothing on the way into the table. Until
then they lie between such rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jax import Array, lax

from attar.models.layout import Layout
from attar.prepare import AnyPreparation, Preparation, SeriesPreparation

ROUNDS = 16
"""Rounds in which shares are found: each leaves out values that get none, and few are left after some."""


LARGE = 2.0**17
"""Mean of a column beyond which float32 tells whole numbers apart only coarsely: it has 24 binary digits."""


class Legal(Protocol):
    """What rows of a cohort may be; a pytree."""

    def inside(self, x: Array) -> Array:
        """Return the rows nearest to x [rows, inputs] that lie between legal ones, column by column."""

    def nearest(self, x: Array) -> Array:
        """Return the legal rows nearest to x [rows, inputs]."""


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["low", "high", "mean", "scale", "whole", "fill"],
    meta_fields=["categories", "gaps"],
)
@dataclass(frozen=True)
class TableLegal:
    """Rows of a table: per input its range, mean, scale, whether it is a whole number, and the value that fills a gap.

    `categories` are the inputs of each categorical column, `gaps` (start, stop, indicator) of each that may be missing.
    """

    low: Array
    high: Array
    mean: Array
    scale: Array
    whole: Array
    fill: Array
    categories: tuple[tuple[int, int], ...]
    gaps: tuple[tuple[int, int, int], ...]

    def inside(self, x: Array) -> Array:
        """Return the rows nearest to x [rows, inputs] that lie between legal ones: in range, one category in shares.

        A row that may be of many categories at once says of all of them what it can say only of one when it is legal.
        """
        wished, x = x, self._in_range(x)
        for start, stop in self.categories:
            here = slice(start, stop)
            x = x.at[:, here].set(self._scaled(shares(self._raw(wished, here)), here))
        return x

    def nearest(self, x: Array) -> Array:
        """Return the legal rows nearest to x [rows, inputs]."""
        wished, x = x, self._in_range(x)
        whole = (jnp.rint(x * self.scale + self.mean) - self.mean) / self.scale
        at_edge = (x == self.low) | (x == self.high)
        x = jnp.where(self.whole & ~at_edge, self._in_range(whole), x)
        for start, stop in self.categories:
            here = slice(start, stop)
            chosen = jnp.argmax(self._raw(wished, here), axis=1)
            x = x.at[:, here].set(self._scaled(jax.nn.one_hot(chosen, stop - start), here))
        for start, stop, indicator in self.gaps:
            missing = x[:, indicator] > (self.low[indicator] + self.high[indicator]) / 2
            x = x.at[:, start:stop].set(jnp.where(missing[:, None], self.fill[start:stop], x[:, start:stop]))
        return x

    def _in_range(self, x: Array) -> Array:
        return jnp.clip(x, self.low, self.high)

    def _raw(self, x: Array, here: slice) -> Array:
        return x[:, here] * self.scale[here] + self.mean[here]

    def _scaled(self, raw: Array, here: slice) -> Array:
        return (raw - self.mean[here]) / self.scale[here]


@partial(jax.tree_util.register_dataclass, data_fields=["hourly", "static"], meta_fields=["layout"])
@dataclass(frozen=True)
class SeriesLegal:
    """Rows of series: each hour is a row of its own kind of table, the rest is that of another."""

    hourly: TableLegal
    static: TableLegal
    layout: Layout

    def inside(self, x: Array) -> Array:
        """Return the rows nearest to x [rows, inputs] that lie between legal ones, column by column."""
        return self._each(TableLegal.inside, x)

    def nearest(self, x: Array) -> Array:
        """Return the legal rows nearest to x [rows, inputs]."""
        return self._each(TableLegal.nearest, x)

    def _each(self, rule: Callable[[TableLegal, Array], Array], x: Array) -> Array:
        hours, channels, _ = self.layout
        moving, fixed = x[:, : hours * channels], x[:, hours * channels :]
        moved = rule(self.hourly, moving.reshape(-1, channels)).reshape(moving.shape)
        return jnp.concatenate([moved, rule(self.static, fixed)], axis=1)


def fraction_of_large(mean: float) -> float:
    """Return a mean without its whole part where that is too large for float32 to tell whole numbers beside it apart.

    Which rows are whole does not depend on it.
    """
    return mean - round(mean) if abs(mean) > LARGE else mean


def shares(x: Array) -> Array:
    """Return the nearest rows to x [rows, values] that are shares: none below 0, their sum 1.

    What is taken from every value is found in rounds, which takes a fraction of the time that sorting takes.
    """

    def taken(counted: Array) -> Array:
        return (jnp.sum(x, axis=1, keepdims=True, where=counted) - 1) / counted.sum(axis=1, keepdims=True)

    least = lax.fori_loop(0, ROUNDS, lambda _, least: taken(x > least), taken(jnp.ones_like(x, bool)))
    return jnp.maximum(x - least, 0.0)


def legal(preparation: AnyPreparation) -> Legal:
    """Return what rows of a prepared cohort may be."""
    if isinstance(preparation, Preparation):
        return table_legal(preparation)
    return series_legal(preparation)


def series_legal(preparation: SeriesPreparation) -> SeriesLegal:
    """Return what rows of prepared series may be: a mask is 0 or 1."""
    values, masks = table_legal(preparation.hourly), len(preparation.channels)

    def longer(array: Array, value: float) -> Array:
        return jnp.concatenate([array, jnp.full(masks, value, array.dtype)])

    hourly = replace(
        values,
        low=longer(values.low, 0.0),
        high=longer(values.high, 1.0),
        mean=longer(values.mean, 0.0),
        scale=longer(values.scale, 1.0),
        whole=longer(values.whole, True),
        fill=longer(values.fill, 0.0),
    )
    return SeriesLegal(hourly, table_legal(preparation.static), preparation.layout)


def table_legal(preparation: Preparation) -> TableLegal:
    """Return what rows of a prepared table may be."""
    low, high = preparation.bounds()
    indicators = preparation.width - sum(feature.indicator is not None for feature in preparation.features)
    mean: list[float] = []
    scale: list[float] = []
    whole, categories = [], []
    gaps: list[tuple[int, int, int]] = []
    for feature in preparation.features:
        here = (len(mean), len(mean) + len(feature.mean))
        if feature.kind == "categorical":
            categories.append(here)
        if feature.indicator:
            gaps.append((*here, indicators + len(gaps)))
        mean += feature.mean if feature.kind == "categorical" else map(fraction_of_large, feature.mean)
        scale += feature.scale
        whole += [feature.is_whole] * len(feature.mean)
    for feature in preparation.features:
        if feature.indicator:
            mean.append(feature.indicator[0])
            scale.append(feature.indicator[1])
            whole.append(True)
    nothing = pd.DataFrame({feature.column: [np.nan] for feature in preparation.features}, index=[0])
    return TableLegal(
        jnp.asarray(low),
        jnp.asarray(high),
        jnp.asarray(np.array(mean, np.float32)),
        jnp.asarray(np.array(scale, np.float32)),
        jnp.asarray(np.array(whole, bool)),
        jnp.asarray(preparation.transform(nothing)[0]),
        tuple(categories),
        tuple(gaps),
    )

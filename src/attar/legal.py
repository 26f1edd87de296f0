"""The nearest row that a table can hold, inside jit: values in their range, whole numbers whole, one category each.

Condensed patients that are optimised as what they will be exported as lose nothing on the way into the table.
"""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from attar.prepare import Preparation


@partial(
    jax.tree_util.register_dataclass, data_fields=["low", "high", "mean", "scale", "whole"], meta_fields=["categories"]
)
@dataclass(frozen=True)
class Legal:
    """Per prepared input its range, mean, scale and whether it is a whole number; per categorical column its inputs."""

    low: Array
    high: Array
    mean: Array
    scale: Array
    whole: Array
    categories: tuple[tuple[int, int], ...]

    def inside(self, x: Array) -> Array:
        """Return rows [rows, inputs] with every input moved into its observed range."""
        return jnp.clip(x, self.low, self.high)

    def nearest(self, x: Array) -> Array:
        """Return the legal rows nearest to x [rows, inputs]."""
        whole = (jnp.rint(x * self.scale + self.mean) - self.mean) / self.scale
        x = self.inside(jnp.where(self.whole, whole, x))
        for start, stop in self.categories:
            here = slice(start, stop)
            chosen = jnp.argmax(x[:, here] * self.scale[here] + self.mean[here], axis=1)
            x = x.at[:, here].set((jax.nn.one_hot(chosen, stop - start) - self.mean[here]) / self.scale[here])
        return x


def legal(preparation: Preparation) -> Legal:
    """Return what rows of a prepared table may be."""
    low, high = preparation.bounds()
    mean: list[float] = []
    scale: list[float] = []
    whole, categories = [], []
    for feature in preparation.features:
        if feature.kind == "categorical":
            categories.append((len(mean), len(mean) + len(feature.mean)))
        mean += feature.mean
        scale += feature.scale
        whole += [feature.is_whole] * len(feature.mean)
    for feature in preparation.features:
        if feature.indicator:
            mean.append(feature.indicator[0])
            scale.append(feature.indicator[1])
            whole.append(True)
    return Legal(
        jnp.asarray(low),
        jnp.asarray(high),
        jnp.asarray(np.array(mean, np.float32)),
        jnp.asarray(np.array(scale, np.float32)),
        jnp.asarray(np.array(whole)),
        tuple(categories),
    )

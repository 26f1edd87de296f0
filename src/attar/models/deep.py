"""The paper's deeper networks for tables: several hidden layers, ReLU and dropout after each."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.nn import relu

from attar.models import flat, student


@dataclass(frozen=True)
class DeepMLP:
    """features -> widths (ReLU, dropout each) -> outputs; its student goes by automatic differentiation."""

    features: int
    outputs: int
    widths: tuple[int, ...]
    dropout: float

    @property
    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of each parameter tensor, in the order of the flat vector."""
        named: dict[str, tuple[int, ...]] = {}
        for index, (before, after) in enumerate(pairwise((self.features, *self.widths, self.outputs))):
            named |= {f"layer{index}.weight": (before, after), f"layer{index}.bias": (after,)}
        return named

    @property
    def size(self) -> int:
        """Length p of the flat parameter vector."""
        return flat.size(self.tensors)

    def init(self, key: Array) -> Array:
        """Draw every weight and bias uniformly within 1 / sqrt(inputs of its layer)."""
        layers = pairwise((self.features, *self.widths, self.outputs))
        bounds = jnp.concatenate([jnp.full((before + 1) * after, before**-0.5) for before, after in layers])
        return bounds * jax.random.uniform(key, bounds.shape, minval=-1.0, maxval=1.0)

    def units(self, rows: int) -> tuple[int, ...]:
        """Shape of the dropout mask for a batch of `rows`: all hidden layers side by side."""
        return (rows, sum(self.widths))

    def apply(self, theta: Array, x: Array, keep: Array | None = None, stats: Any = None) -> Array:
        """Return logits [rows, outputs] of inputs [rows, features]."""
        parts = flat.split(theta, self.tensors)
        start = 0
        for weight, bias, width in zip(parts[:-2:2], parts[1:-2:2], self.widths, strict=True):
            x = relu(x @ weight + bias)
            if keep is not None:
                x = jnp.where(keep[:, start : start + width], x / (1.0 - self.dropout), 0.0)
            start += width
        return x @ parts[-2] + parts[-1]

    def calibrate(self, theta: Array, x: Array) -> Any:
        """Return nothing: the network has no statistics of its data."""
        return ()

    def follow(self, start: Array, x: Array, y: Array, step_size: Array, steps: int) -> tuple[Array, Any]:
        """Train a student on one small set; return its end [p] and its iterates."""
        return student.follow(self, start, x, y, step_size, steps)

    def pull(self, trace: Any, x: Array, y: Array, direction: Array) -> Array:
        """Return the sum over the student's steps of d/dx <grad loss(theta_n; x, y), direction>."""
        return student.pull(self, trace, x, y, direction)

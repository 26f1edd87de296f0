"""The paper's network for tables: one hidden layer, ReLU, dropout while training."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.nn import relu

from attar.models import flat
from attar.models.mlp_student import Sizes, Trace, follow_dual, pull_dual, pull_primal
from attar.models.student import follow


@dataclass(frozen=True)
class MLP:
    """features -> hidden (ReLU, dropout) -> outputs."""

    features: int
    outputs: int
    hidden: int
    dropout: float

    @property
    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of each parameter tensor, in the order of the flat vector."""
        return {
            "hidden.weight": (self.features, self.hidden),
            "hidden.bias": (self.hidden,),
            "output.weight": (self.hidden, self.outputs),
            "output.bias": (self.outputs,),
        }

    @property
    def size(self) -> int:
        """Length p of the flat parameter vector."""
        return flat.size(self.tensors)

    def init(self, key: Array) -> Array:
        """Draw every weight and bias uniformly within 1 / sqrt(inputs of its layer)."""
        bounds = jnp.concatenate(
            [
                jnp.full((self.features + 1) * self.hidden, self.features**-0.5),
                jnp.full((self.hidden + 1) * self.outputs, self.hidden**-0.5),
            ]
        )
        return bounds * jax.random.uniform(key, bounds.shape, minval=-1.0, maxval=1.0)

    def units(self, rows: int) -> tuple[int, ...]:
        """Shape of the dropout mask for a batch of `rows`."""
        return (rows, self.hidden)

    def apply(self, theta: Array, x: Array, keep: Array | None = None, stats: Any = None) -> Array:
        """Return logits [rows, outputs] of inputs [rows, features]."""
        weight, bias, out_weight, out_bias = flat.split(theta, self.tensors)
        hidden = relu(x @ weight + bias)
        if keep is not None:
            hidden = jnp.where(keep, hidden / (1.0 - self.dropout), 0.0)
        return hidden @ out_weight + out_bias

    def calibrate(self, theta: Array, x: Array) -> Any:
        """Return nothing: the network has no statistics of its data."""
        return ()

    def follow(self, start: Array, x: Array, y: Array, step_size: Array, steps: int) -> tuple[Array, Array | Trace]:
        """Train a student on one small set; return its end [p] and what `pull` needs to know of its steps."""
        if len(x) < self.features:
            return follow_dual(self._sizes, start, x, y, step_size, steps)
        return follow(self, start, x, y, step_size, steps)

    def pull(self, trace: Array | Trace, x: Array, y: Array, direction: Array) -> Array:
        """Return the sum over the student's steps of d/dx <grad loss(theta_n; x, y), direction>."""
        if isinstance(trace, Trace):
            return pull_dual(self._sizes, trace, x, y, direction)
        return pull_primal(self._sizes, trace, x, y, direction)

    @property
    def _sizes(self) -> Sizes:
        return Sizes(self.features, self.hidden, self.outputs)

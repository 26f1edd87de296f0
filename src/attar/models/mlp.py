"""The paper's network for tables: one hidden layer, ReLU, dropout while training."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array
from jax.nn import relu, sigmoid

from attar.models import flat


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

    def apply(self, theta: Array, x: Array, keep: Array | None = None) -> Array:
        """Return logits [rows, outputs] of inputs [rows, features]."""
        weight, bias, out_weight, out_bias = flat.split(theta, self.tensors)
        hidden = relu(x @ weight + bias)
        if keep is not None:
            hidden = jnp.where(keep, hidden / (1.0 - self.dropout), 0.0)
        return hidden @ out_weight + out_bias

    def pull(self, iterates: Array, x: Array, y: Array, direction: Array) -> Array:
        """Return the sum over iterates of d/dx <grad loss(iterate; x, y), direction>.

        Written out by hand because automatic differentiation takes about twice as long (benchmarks/RESULTS.md): both
        the direction's forward pass and the factor of its hidden weights are the same for every iterate, which leaves
        two matrix products an iterate. The hidden bias is the weight of a constant input: it costs no pass of its own.
        """
        tensors = {
            "hidden": (self.features + 1, self.hidden),
            "output.weight": (self.hidden, self.outputs),
            "output.bias": (self.outputs,),
        }
        x = jnp.concatenate([x, jnp.ones_like(x[:, :1])], axis=1)
        d_weight, d_out_weight, d_out_bias = flat.split(direction, tensors)
        tangent = x @ d_weight

        def add(sums: tuple[Array, Array], theta: Array) -> tuple[tuple[Array, Array], None]:
            through_weights, through_direction = sums
            weight, out_weight, out_bias = flat.split(theta, tensors)
            before = x @ weight
            active = before > 0
            hidden = jnp.where(active, before, 0.0)
            risk = sigmoid(hidden @ out_weight + out_bias)
            residual = (risk - y) / y.size
            change = jnp.where(active, tangent, 0.0) @ out_weight + hidden @ d_out_weight + d_out_bias
            curvature = risk * (1.0 - risk) / y.size * change
            upstream = jnp.where(active, curvature @ out_weight.T + residual @ d_out_weight.T, 0.0)
            return (
                through_weights + upstream @ weight[:-1].T,
                through_direction + jnp.where(active, residual @ out_weight.T, 0.0),
            ), None

        zero = (jnp.zeros_like(x[:, :-1]), jnp.zeros_like(tangent))
        (through_weights, through_direction), _ = jax.lax.scan(add, zero, iterates)
        return through_weights + through_direction @ d_weight[:-1].T

"""The paper's recurrent network for series: one LSTM layer, its last state dropped out, linear head."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.nn import sigmoid

from attar.models import flat, student
from attar.models.layout import Layout


@dataclass(frozen=True)
class LSTM:
    """series -> LSTM of `hidden` units -> last state -> outputs."""

    layout: Layout
    outputs: int
    hidden: int
    dropout: float

    @property
    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of each parameter tensor, in the order of the flat vector."""
        return {
            "input.weight": (self.layout.inputs, 4 * self.hidden),
            "input.bias": (4 * self.hidden,),
            "state.weight": (self.hidden, 4 * self.hidden),
            "output.weight": (self.hidden, self.outputs),
            "output.bias": (self.outputs,),
        }

    @property
    def size(self) -> int:
        """Length p of the flat parameter vector."""
        return flat.size(self.tensors)

    def init(self, key: Array) -> Array:
        """Draw every weight and bias uniformly within 1 / sqrt(hidden units)."""
        return jax.random.uniform(key, (self.size,), minval=-1.0) * self.hidden**-0.5

    def units(self, rows: int) -> tuple[int, ...]:
        """Shape of the dropout mask for a batch of `rows`."""
        return (rows, self.hidden)

    def apply(self, theta: Array, x: Array, keep: Array | None = None, stats: Any = None) -> Array:
        """Return logits [rows, outputs] of inputs [rows, width]."""
        return self._leave(theta, self.enter(theta, x), keep)

    def calibrate(self, theta: Array, x: Array) -> Any:
        """Return nothing: the network has no statistics of its data."""
        return ()

    def enter(self, theta: Array, x: Array) -> Array:
        """Return what the inputs add to the gates at every hour, linear in theta and in x."""
        weight, bias, *_ = flat.split(theta, self.tensors)
        return self.layout.series(x) @ weight + bias

    def leave(self, theta: Array, entered: Array, known: None = None) -> tuple[Array, None]:
        """Return logits of what `enter` returned, as a student has them: no dropout; nothing is worth remembering."""
        return self._leave(theta, entered, None), None

    def follow(self, start: Array, x: Array, y: Array, step_size: Array, steps: int) -> tuple[Array, Any]:
        """Train a student on one small set; return its end [p] and what `pull` needs."""
        return student.follow_entered(self, start, x, y, step_size, steps)

    def pull(self, trace: Any, x: Array, y: Array, direction: Array) -> Array:
        """Return the sum over the student's steps of d/dx <grad loss(theta_n; x, y), direction>."""
        return student.pull_entered(self, trace, x, y, direction)

    def _leave(self, theta: Array, entered: Array, keep: Array | None) -> Array:
        *_, state_weight, out_weight, out_bias = flat.split(theta, self.tensors)

        def hour(state: tuple[Array, Array], gates: Array) -> tuple[tuple[Array, Array], None]:
            shown, cell = state
            into, forget, new, out = jnp.split(gates + shown @ state_weight, 4, axis=-1)
            cell = sigmoid(forget) * cell + sigmoid(into) * jnp.tanh(new)
            return (sigmoid(out) * jnp.tanh(cell), cell), None

        zero = jnp.zeros((len(entered), self.hidden))
        (shown, _), _ = lax.scan(hour, (zero, zero), jnp.swapaxes(entered, 0, 1))
        if keep is not None:
            shown = jnp.where(keep, shown / (1.0 - self.dropout), 0.0)
        return shown @ out_weight + out_bias

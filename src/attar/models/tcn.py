"""The paper's temporal convolutional network: residual blocks of causal convolutions, mean over time, linear head."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from attar.models import flat, student
from attar.models.convolve import convolve, recall
from attar.models.layout import Layout
from attar.models.norm import NORMS, Moments

CALIBRATION_ROWS = 2048
"""Training rows, evenly spaced, whose mean and variance stand for those of all."""


class Block(NamedTuple):
    """One residual block: kernels side by side, which share its channels, and how far apart the hours are they see."""

    kernels: tuple[int, ...]
    channels: int
    dilation: int = 1


@dataclass(frozen=True)
class TCN:
    """Blocks of convolution, normalisation, PReLU and dropout, twice each, around a linear shortcut."""

    layout: Layout
    outputs: int
    blocks: tuple[Block, ...]
    dropout: float
    norm: str = "batch"

    @property
    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of each parameter tensor, in the order of the flat vector."""
        named: dict[str, tuple[int, ...]] = {}
        width = self.layout.inputs
        for number, (kernels, channels, _) in enumerate(self.blocks):
            for layer, entering in ((0, width), (1, channels)):
                at = f"block{number}.{layer}"
                shares = [channels // len(kernels) + (nth < channels % len(kernels)) for nth in range(len(kernels))]
                named |= {
                    f"{at}.kernel{kernel}": (kernel, entering, share)
                    for kernel, share in zip(kernels, shares, strict=True)
                }
                named |= {f"{at}.{part}": (channels,) for part in ("bias", "scale", "shift")}
                named |= {f"{at}.slope": (1,)}
            named |= {f"block{number}.shortcut": (width, channels), f"block{number}.shortcut_bias": (channels,)}
            width = channels
        return named | {"output.weight": (width, self.outputs), "output.bias": (self.outputs,)}

    @property
    def size(self) -> int:
        """Length p of the flat parameter vector."""
        return flat.size(self.tensors)

    def init(self, key: Array) -> Array:
        """Draw weights and biases uniformly within 1 / sqrt(inputs of their layer); normalise to 1, slopes 0.25."""
        parts = []
        inputs = 1
        for name, shape in self.tensors.items():
            last = name.rpartition(".")[2]
            key, own = jax.random.split(key)
            if last in ("scale", "shift", "slope"):
                value = {"scale": 1.0, "shift": 0.0, "slope": 0.25}[last]
                parts.append(jnp.full(flat.size({name: shape}), value))
            else:
                inputs = flat.size({name: shape}) // shape[-1] if len(shape) > 1 else inputs
                parts.append(jax.random.uniform(own, (flat.size({name: shape}),), minval=-1.0) * inputs**-0.5)
        return jnp.concatenate(parts)

    def units(self, rows: int) -> tuple[int, ...]:
        """Shape of the dropout mask for a batch of `rows`: all layers side by side."""
        return (rows, self.layout.hours, 2 * sum(block.channels for block in self.blocks))

    def apply(self, theta: Array, x: Array, keep: Array | None = None, stats: Any = None) -> Array:
        """Return logits [rows, outputs] of inputs [rows, width]; without stats the batch is normalised by itself."""
        return self._leave(theta, self.enter(theta, x), keep, stats)[0]

    def calibrate(self, theta: Array, x: Array) -> Any:
        """Return the mean and variance of every normalised channel over the rows that the network was trained on."""
        rows = x[:: -(-len(x) // CALIBRATION_ROWS)]
        return self._leave(theta, self.enter(theta, rows), None, None)[1]

    def enter(self, theta: Array, x: Array) -> tuple[Array, Array]:
        """Return the first convolution and the first shortcut, both linear in theta and in x."""
        series, parts = self.layout.series(x), self._parts(theta)
        first = convolve(series, self._kernels(parts, 0, 0), self.blocks[0].dilation) + parts["block0.0.bias"]
        return first, self._shortcut(parts, 0, series)

    def leave(
        self, theta: Array, entered: tuple[Array, Array], known: list[Array] | None = None
    ) -> tuple[Array, list[Array]]:
        """Return logits of what `enter` returned, as a student has them (no dropout), and the convolutions between."""
        logits, _, convolved = self._leave(theta, entered, None, None, known)
        return logits, convolved

    def follow(self, start: Array, x: Array, y: Array, step_size: Array, steps: int) -> tuple[Array, Any]:
        """Train a student on one small set; return its end [p] and what `pull` needs."""
        return student.follow_entered(self, start, x, y, step_size, steps)

    def pull(self, trace: Any, x: Array, y: Array, direction: Array) -> Array:
        """Return the sum over the student's steps of d/dx <grad loss(theta_n; x, y), direction>."""
        return student.pull_entered(self, trace, x, y, direction)

    def _leave(
        self,
        theta: Array,
        entered: tuple[Array, Array],
        keep: Array | None,
        stats: list[Moments | None] | None,
        known: list[Array] | None = None,
    ) -> tuple[Array, list[Moments | None], list[Array]]:
        """Return logits, the moments used, and every convolution but the first."""
        parts, start = self._parts(theta), 0
        used: list[Moments | None] = []
        convolved: list[Array] = []
        hidden, shortcut = entered
        for number, block in enumerate(self.blocks):
            for layer in (0, 1):
                at = f"block{number}.{layer}"
                if number or layer:
                    kernels = self._kernels(parts, number, layer)
                    if known is None:
                        convolved.append(convolve(hidden, kernels, block.dilation))
                    else:
                        convolved.append(recall(block.dilation, known[len(convolved)], hidden, kernels))
                    hidden = convolved[-1] + parts[f"{at}.bias"]
                given = None if stats is None else stats[len(used)]
                hidden, moments = NORMS[self.norm](hidden, parts[f"{at}.scale"], parts[f"{at}.shift"], given)
                hidden = jnp.maximum(hidden, 0.0) + parts[f"{at}.slope"] * jnp.minimum(hidden, 0.0)
                if keep is not None:
                    here = keep[..., start : start + block.channels]
                    hidden = jnp.where(here, hidden / (1.0 - self.dropout), 0.0)
                start += block.channels
                used.append(moments)
            if number + 1 < len(self.blocks):
                hidden = hidden + shortcut
                shortcut = self._shortcut(parts, number + 1, hidden)
        logits = (hidden.mean(axis=1) + shortcut) @ parts["output.weight"] + parts["output.bias"]
        return logits, used, convolved

    def _shortcut(self, parts: dict[str, Array], number: int, entering: Array) -> Array:
        """Return a block's shortcut; of the last one only the mean over time is needed, so that is taken first."""
        if number + 1 == len(self.blocks):
            entering = entering.mean(axis=1)
        return entering @ parts[f"block{number}.shortcut"] + parts[f"block{number}.shortcut_bias"]

    def _parts(self, theta: Array) -> dict[str, Array]:
        return dict(zip(self.tensors, flat.split(theta, self.tensors), strict=True))

    def _kernels(self, parts: dict[str, Array], number: int, layer: int) -> list[Array]:
        return [parts[f"block{number}.{layer}.kernel{kernel}"] for kernel in self.blocks[number].kernels]

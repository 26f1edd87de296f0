"""Networks as functions of one flat parameter vector; a new one is a file here and a row in `MODELS`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from jax import Array

from attar.models.deep import DeepMLP
from attar.models.layout import Layout
from attar.models.lstm import LSTM
from attar.models.mlp import MLP
from attar.models.tcn import TCN, Block


class Model(Protocol):
    """What teachers, students and evaluations need of a network; hashable, so that jit takes it as static."""

    @property
    def dropout(self) -> float:
        """Share of hidden units dropped while training."""

    @property
    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of each parameter tensor, in the order of the flat vector."""

    @property
    def size(self) -> int:
        """Length p of the flat parameter vector."""

    def init(self, key: Array) -> Array:
        """Return a fresh parameter vector [p]."""

    def apply(self, theta: Array, x: Array, keep: Array | None = None, stats: Any = None) -> Array:
        """Return logits [rows, outputs]; `keep` is a dropout mask of shape `units(rows)`, None for none.

        `stats` is what `calibrate` returned; None is for training, where a batch is normalised by itself.
        """

    def calibrate(self, theta: Array, x: Array) -> Any:
        """Return what evaluation needs to know of the rows that the network was trained on."""

    def units(self, rows: int) -> tuple[int, ...]:
        """Shape of the dropout mask for a batch of `rows`."""

    def follow(self, start: Array, x: Array, y: Array, step_size: Array, steps: int) -> tuple[Array, Any]:
        """Train a student on one small set; return its end [p] and what `pull` needs to know of its steps."""

    def pull(self, trace: Any, x: Array, y: Array, direction: Array) -> Array:
        """Return the sum over the student's steps of d/dx <grad loss(theta_n; x, y), direction>, shape of x."""


@dataclass(frozen=True)
class Row:
    """How a network is made of layout, outputs, hidden units and dropout; None is what the recipe says.

    `series` networks need hours. `training` is laid over a recipe's evaluation where the network needs its own.
    """

    make: Callable[[Layout, int, int, float], Any]
    hidden: int | None = None
    dropout: float | None = None
    series: bool = False
    training: Mapping[str, Any] = field(default_factory=dict)


def deepened(*times: int) -> Callable[[Layout, int, int, float], DeepMLP]:
    """Return the network with hidden layers of these multiples of its width."""
    return lambda layout, outputs, hidden, dropout: DeepMLP(
        layout.width, outputs, tuple(part * hidden for part in times), dropout
    )


def widened(times: int) -> Callable[[Layout, int, int, float], MLP]:
    """Return the network with a hidden layer `times` as wide."""
    return lambda layout, outputs, hidden, dropout: MLP(layout.width, outputs, times * hidden, dropout)


def convolutional(*kernels: int, blocks: int = 1, norm: str = "batch") -> Callable[[Layout, int, int, float], TCN]:
    """Return the network of blocks with these kernels side by side, each block looking twice as far back."""
    return lambda layout, outputs, hidden, dropout: TCN(
        layout, outputs, tuple(Block(kernels, hidden, 2**block) for block in range(blocks)), dropout, norm
    )


LSTM_TRAINING = {"step_size": 0.01, "epochs": 30}

MODELS: dict[str, Row] = {
    "mlp": Row(widened(1)),
    "mlp-1": Row(widened(2)),
    "mlp-2": Row(widened(4)),
    "mlp-3": Row(deepened(1, 2)),
    "mlp-4": Row(deepened(1, 2, 4)),
    "tcn": Row(convolutional(9), series=True),
    "tcn-group": Row(convolutional(9, norm="group"), series=True),
    "tcn-1": Row(convolutional(3, 5, 7), hidden=192, dropout=0.5, series=True),
    "tcn-2": Row(convolutional(3, 5, blocks=2), hidden=256, dropout=0.5, series=True),
    "lstm-1": Row(LSTM, hidden=128, dropout=0.25, series=True, training=LSTM_TRAINING),
    "lstm-2": Row(LSTM, hidden=256, dropout=0.25, series=True, training=LSTM_TRAINING),
}

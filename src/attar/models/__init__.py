"""Networks as functions of one flat parameter vector; a new one is a file here and a row in `MODELS`."""

from collections.abc import Callable
from typing import Any, Protocol

from jax import Array

from attar.models.deep import DeepMLP
from attar.models.mlp import MLP


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

    def apply(self, theta: Array, x: Array, keep: Array | None = None) -> Array:
        """Return logits [rows, outputs]; `keep` is a dropout mask of shape `units(rows)`, None for none."""

    def units(self, rows: int) -> tuple[int, ...]:
        """Shape of the dropout mask for a batch of `rows`."""

    def follow(self, start: Array, x: Array, y: Array, step_size: Array, steps: int) -> tuple[Array, Any]:
        """Train a student on one small set; return its end [p] and what `pull` needs to know of its steps."""

    def pull(self, trace: Any, x: Array, y: Array, direction: Array) -> Array:
        """Return the sum over the student's steps of d/dx <grad loss(theta_n; x, y), direction>, shape of x."""


def widened(times: int) -> Callable[..., MLP]:
    """Return the network with a hidden layer `times` as wide."""
    return lambda features, outputs, hidden, dropout: MLP(features, outputs, times * hidden, dropout)


def deepened(*times: int) -> Callable[..., DeepMLP]:
    """Return the network with hidden layers of these multiples of its width."""
    return lambda features, outputs, hidden, dropout: DeepMLP(
        features, outputs, tuple(part * hidden for part in times), dropout
    )


MODELS: dict[str, Callable[..., Any]] = {
    "mlp": MLP,
    "mlp-1": widened(2),
    "mlp-2": widened(4),
    "mlp-3": deepened(1, 2),
    "mlp-4": deepened(1, 2, 4),
}

"""A teacher's training straightened to a few pieces, each tensor walking along them at its own pace (MCT)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from attar.models import Model, flat
from attar.recipe import Recipe
from attar.teach import Teachers
from attar.train import Task


@partial(jax.tree_util.register_dataclass, data_fields=["anchors", "position"], meta_fields=["sizes"])
@dataclass(frozen=True)
class Convexified:
    """Straight pieces between anchors [anchors, p]; position [epochs + 1, tensors] says where each tensor is when.

    A position of j + beta is the share beta of the piece from anchor j to anchor j + 1. `sizes` are the tensors'.
    """

    anchors: Array
    position: Array
    sizes: tuple[int, ...]
    every_epoch: ClassVar[bool] = True

    def at(self, t: Array) -> Array:
        """Return the parameters at t: positions are interpolated between epochs, parameters between anchors."""
        last = self.position.shape[0] - 1
        epoch = jnp.asarray(t) * last
        before = jnp.clip(jnp.floor(epoch).astype(jnp.int32), 0, last - 1)
        share = epoch - before
        position = (1 - share) * self.position[before] + share * self.position[before + 1]
        places = jnp.arange(len(self.anchors))[:, None]
        weights = jnp.maximum(0.0, 1.0 - jnp.abs(position - places))
        tensors = jnp.split(self.anchors, np.cumsum(self.sizes)[:-1], axis=1)
        return jnp.concatenate([weight @ tensor for weight, tensor in zip(weights.T, tensors, strict=True)])

    @classmethod
    def draw(cls, model: Model, teachers: Teachers, task: Task, recipe: Recipe, watch: Callable[[int], None]) -> Self:
        """Return the convexified trainings of all teachers."""
        anchors, position = convexify(teachers.points, flat.sizes(model.tensors), recipe.path.anchors, recipe.path.beta)
        return cls(jnp.asarray(anchors), jnp.asarray(position), flat.sizes(model.tensors))

    def stored(self) -> dict[str, Array]:
        """Return the inner anchors and the positions."""
        return {"anchors": self.anchors[:, 1:-1], "position": self.position}

    @classmethod
    def restore(cls, model: Model, stored: dict[str, np.ndarray], starts: np.ndarray, ends: np.ndarray) -> Self:
        """Return the paths from inner anchors, positions and both ends."""
        anchors = jnp.concatenate([starts[:, None], stored["anchors"], ends[:, None]], axis=1)
        return cls(anchors, jnp.asarray(stored["position"]), flat.sizes(model.tensors))


def convexify(points: np.ndarray, sizes: tuple[int, ...], anchors: int, beta: str) -> tuple[np.ndarray, np.ndarray]:
    """Return anchors [teachers, anchors, p] and positions [teachers, epochs + 1, tensors] of trainings, [.., p].

    Anchors stand at equally spaced epochs (those that fall together are one). Inside a piece, beta is the share of the
    way that a tensor has gone ("length"), or the projection of the whole vector on the piece, the same for all tensors
    ("projection"). Only then is each inner anchor replaced by the mean of its neighbouring epochs; both ends stay, so
    that the path joins them.
    """
    last = points.shape[1] - 1
    at = np.unique(np.round(np.linspace(0, last, anchors)).astype(int))
    position = np.zeros((len(points), last + 1, len(sizes)), np.float32)
    for piece, (start, stop) in enumerate(pairwise(at)):
        position[:, start : stop + 1] = piece + BETA[beta](points[:, start : stop + 1], sizes)
        position[:, stop] = piece + 1
    chosen = points[:, at].copy()
    chosen[:, 1:-1] = (points[:, at[1:-1] - 1] + points[:, at[1:-1] + 1]) / 2
    return chosen, position


def by_length(piece: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """Return, per epoch of a piece [teachers, epochs, p] and tensor, the share of the tensor's way up to there."""
    steps = np.diff(piece, axis=1)
    cuts = np.cumsum(sizes)[:-1]
    lengths = np.stack([np.linalg.norm(part, axis=2) for part in np.split(steps, cuts, axis=2)], axis=2)
    gone = np.cumsum(lengths, axis=1)
    whole = np.where(gone[:, -1:] == 0, 1.0, gone[:, -1:])
    return np.concatenate([np.zeros_like(gone[:, :1]), gone / whole], axis=1)


def by_projection(piece: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """Return, per epoch of a piece, the projection of the whole vector on it, within [0, 1], for every tensor."""
    chord = piece[:, -1] - piece[:, 0]
    along = np.einsum("tep,tp->te", piece - piece[:, :1], chord)
    whole = np.maximum(np.sum(chord**2, axis=1), np.finfo(np.float32).tiny)
    share = np.clip(along / whole[:, None], 0.0, 1.0)
    return np.repeat(share[:, :, None], len(sizes), axis=2)


BETA = {"length": by_length, "projection": by_projection}

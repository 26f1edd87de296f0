"""Between one flat parameter vector and its named tensors."""

import math

from jax import Array


def size(tensors: dict[str, tuple[int, ...]]) -> int:
    """Count the parameters of all tensors."""
    return sum(sizes(tensors))


def split(theta: Array, tensors: dict[str, tuple[int, ...]]) -> list[Array]:
    """Cut the last axis of theta into tensors; leading axes (many networks at once) stay in front."""
    parts, start = [], 0
    for shape in tensors.values():
        stop = start + math.prod(shape)
        parts.append(theta[..., start:stop].reshape(*theta.shape[:-1], *shape))
        start = stop
    return parts


def sizes(tensors: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return how many parameters each tensor has."""
    return tuple(math.prod(shape) for shape in tensors.values())

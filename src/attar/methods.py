"""The table of methods: a method is a row, and nothing else in attar asks for its name."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jax import Array

from attar import paths, segments
from attar.errors import RecipeError, nearest
from attar.recipe import Segments


@dataclass(frozen=True)
class Method:
    """How paths are drawn from teachers and read back, and which parts of them are matched."""

    title: str
    draw: Callable[..., paths.Drawn]
    read: Callable[[dict[str, np.ndarray]], paths.Drawn]
    segment: Callable[[Array, Segments], tuple[Array, Array]]
    every_epoch: bool = False
    """Whether the paths need the teachers' parameters at the end of every epoch."""


METHODS: dict[str, Method] = {
    "btm": Method("Bezier Trajectory Matching", paths.draw_bezier, paths.read_bezier, segments.uniform),
}


def method(name: str) -> Method:
    """Return a row of the table by its name."""
    if name not in METHODS:
        raise RecipeError(f"There is no method {name!r}.{nearest(name, METHODS)}")
    return METHODS[name]

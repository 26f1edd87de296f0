"""How a patient's numbers lie in one row: hour by hour, then what does not change over time."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array


class Layout(NamedTuple):
    """A row is hours x channels numbers, then `static` ones; a table has static ones only."""

    hours: int
    channels: int
    static: int

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return self.hours * self.channels + self.static

    @property
    def inputs(self) -> int:
        """Numbers that a network for series sees at each hour."""
        return self.channels + self.static

    def series(self, x: Array) -> Array:
        """Return rows [rows, width] as series [rows, hours, inputs]; what does not change is there at every hour."""
        moving = x[:, : self.hours * self.channels].reshape(-1, self.hours, self.channels)
        fixed = jnp.broadcast_to(x[:, None, self.hours * self.channels :], (len(x), self.hours, self.static))
        return jnp.concatenate([moving, fixed], axis=-1)


def table(features: int) -> Layout:
    """Return the layout of a row of a table."""
    return Layout(0, 0, features)

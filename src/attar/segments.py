"""Which part of a path is matched in an iteration; a new sampler is a class here and a row in `SAMPLERS`."""

from typing import Protocol

import jax
import jax.numpy as jnp
from jax import Array

from attar.errors import RecipeError
from attar.recipe import Recipe


class Sampler(Protocol):
    """Draws the ends (t_start, t_end) of a segment, and refuses settings that leave nothing to draw."""

    def check(self, recipe: Recipe) -> None:
        """Raise RecipeError if no segment can be drawn."""

    def draw(self, key: Array, recipe: Recipe, iteration: Array) -> tuple[Array, Array]:
        """Return the segment of an iteration."""


class Uniform:
    """A segment of fixed length anywhere on the path (BTM)."""

    def check(self, recipe: Recipe) -> None:
        """Every length in (0, 1] can be drawn."""

    def draw(self, key: Array, recipe: Recipe, iteration: Array) -> tuple[Array, Array]:
        """Draw a start so that the segment ends on the path."""
        length = recipe.segments.length
        start = jax.random.uniform(key, maxval=1.0 - length)
        return start, start + length


class Epochs:
    """M whole epochs of the teacher, from any epoch's end (MTT)."""

    def check(self, recipe: Recipe) -> None:
        """M epochs must fit into the training."""
        epochs, trained = recipe.segments.epochs, recipe.teachers.epochs
        if epochs > trained:
            raise RecipeError(
                f"Setting 'segments.epochs' is {epochs}, but the teachers are trained for {trained} epochs: "
                f"give 1 to {trained}."
            )

    def draw(self, key: Array, recipe: Recipe, iteration: Array) -> tuple[Array, Array]:
        """Draw the first epoch."""
        return _span(key, jnp.int32(0), jnp.int32(recipe.teachers.epochs), recipe)


class Staged(Epochs):
    """M whole epochs within a window that grows towards later epochs in the first iterations (DATM)."""

    def check(self, recipe: Recipe) -> None:
        """The window must hold M epochs from the first iteration on, and fit into the training."""
        super().check(recipe)
        epochs, trained = recipe.segments.epochs, recipe.teachers.epochs
        first, before, after = window(recipe)
        if not (first + epochs <= before <= after <= trained):
            raise RecipeError(
                f"Setting 'segments.windows' gives epochs {first} to {before}, later to {after}, at "
                f"{recipe.per_class} per class. Segments of {epochs} epochs in {trained} trained ones need first + "
                f"{epochs} <= upper bound at the start <= upper bound after the ramp <= {trained}."
            )

    def draw(self, key: Array, recipe: Recipe, iteration: Array) -> tuple[Array, Array]:
        """Draw the first epoch so that the whole segment lies in the window of this iteration."""
        first, before, after = window(recipe)
        ramp = max(1, round(recipe.segments.ramp * recipe.inputs.iterations))
        last = jnp.minimum(before + (after - before) * iteration // ramp, after)
        return _span(key, jnp.int32(first), last, recipe)


def _span(key: Array, first: Array, last: Array, recipe: Recipe) -> tuple[Array, Array]:
    epochs, trained = recipe.segments.epochs, recipe.teachers.epochs
    start = jax.random.randint(key, (), first, last - epochs + 1)
    return start / trained, (start + epochs) / trained


def window(recipe: Recipe) -> tuple[int, int, int]:
    """Return the window of the largest budget that is not above the run's, else of the smallest."""
    rows = sorted(recipe.segments.windows)
    return next((row for row in reversed(rows) if row[0] <= recipe.per_class), rows[0])[1:]


SAMPLERS: dict[str, Sampler] = {"uniform": Uniform(), "epochs": Epochs(), "staged": Staged()}

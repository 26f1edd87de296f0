"""Which version of the set is kept, by its scores on validation patients."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax

from attar.evaluate.utility import jackknife_error
from attar.moves import legal_since
from attar.recipe import Recipe
from attar.state import Passed, State

GROUPS = {"best": 0, "latest": 10}
"""Groups of validation patients that are left out in turn, to learn how much of a difference in scores is chance."""


@partial(jax.jit, static_argnames="recipe")
def choose(recipe: Recipe, state: State, passed: Passed, scores: Array) -> State:
    """Return the state with the snapshot that is to be kept of all so far.

    "latest" looks only at those whose students saw legal rows: one of the first can be lucky, and is next to unmoved.
    """
    keep = recipe.selection.keep
    since = legal_since(recipe) if keep == "latest" else 0
    counts = passed.iterations >= since
    best, fine = lax.scan(partial(consider, keep), state.best_scores, (scores, counts))
    latest = len(scores) - 1 - jnp.argmax(fine[::-1])
    some = fine.any()
    return state._replace(
        kept_x=jnp.where(some, passed.inputs[latest], state.kept_x),
        kept_y=jnp.where(some, passed.labels[latest], state.kept_y),
        kept_score=jnp.where(some, scores[latest, 0], state.kept_score),
        kept_iteration=jnp.where(some, passed.iterations[latest], state.kept_iteration),
        best_scores=best,
    )


def consider(keep: str, best: Array, snapshot: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the best scores so far, and whether a snapshot is to be kept in place of earlier ones.

    It has scores, those of `Scorer`, and counts or does not. Validation scores of one snapshot after another differ
    mostly by chance, and the best of hundreds is the luckiest: "latest" keeps every snapshot that is not worse than the
    best by more than the standard error of the difference, so the last of them stays.
    """
    scores, counts = snapshot
    best = jnp.where(counts & (scores[0] > best[0]), scores, best)
    allowed = jackknife_error(best[1:] - scores[1:]) if keep == "latest" else 0.0
    return best, counts & (best[0] - scores[0] <= allowed)

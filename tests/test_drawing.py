import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attar import drawing, match, paths, recipe
from attar.models.mlp import MLP
from conftest import SHORT


def test_a_segment_that_is_next_to_nothing_is_drawn_again():
    """A training that stands still after its first epoch: only the first segment is worth matching."""
    points = jnp.zeros((1, 6, 3)).at[:, 1:].set(1.0)
    resolved = recipe.load("default", {**SHORT, "method": "mtt", "teachers.epochs": 5, "segments.epochs": 1})
    keys = jax.random.split(jax.random.key(0), 40)
    drawn = jax.vmap(lambda key: drawing.draw_segment(paths.Checkpoints(points), resolved, key, jnp.int32(0)))(keys)
    lengths = jnp.linalg.norm(drawn.end - drawn.start, axis=1)
    assert 0.7 < (lengths > 1).mean() < 1, "eight draws of five find it five times in six"
    model = MLP(1, 1, 1, 0.0)
    loss, gradient = jax.vmap(lambda point, segment: match.distance(model, segment, None, point))(
        jnp.zeros((40, 1, 3)), drawn
    )
    assert np.isfinite(loss).all(), "the length that the loss divides by is floored"
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize(("batch", "shape"), [("all", None), ("auto", None), (8, (30, 8)), (20, None)])
def test_batches_go_round_and_round_in_one_random_order(batch, shape):
    resolved = recipe.load("default", {"per_class": 10, "student.batch": batch})
    batches = drawing.draw_batches(resolved, 20, 30, jax.random.key(0))
    if shape is None:
        assert batches is None
        return
    assert batches.shape == shape
    seen = np.asarray(batches).ravel()
    for first in range(len(seen) - 20):
        assert set(seen[first : first + 20]) == set(range(20)), "all rows before one comes again"
    other = drawing.draw_batches(resolved, 20, 30, jax.random.key(1))
    assert not np.array_equal(batches, other)

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attar import keeping, recipe
from attar.state import Passed
from conftest import QUICK


def test_latest_is_the_last_snapshot_that_is_not_worse_than_the_best_beyond_chance():
    """Three snapshots: the best, one a little worse by chance, one clearly worse on every group of patients."""
    noise = 0.05 * np.random.default_rng(0).standard_normal((3, keeping.GROUPS["latest"]))
    noise[2] = noise[0]
    scores = jnp.asarray(np.concatenate([np.zeros((3, 1)), noise], axis=1) + np.array([[0.5], [0.48], [0.4]]))
    start = jnp.full(1 + keeping.GROUPS["latest"], -1.0)
    passed = {}
    for keep in ("latest", "best"):
        snapshots = scores, jnp.ones(3, bool)
        best, kept = jax.lax.scan(lambda best, one, keep=keep: keeping.consider(keep, best, one), start, snapshots)
        np.testing.assert_array_equal(best, scores[0])
        passed[keep] = kept.tolist()
    assert passed == {"latest": [True, True, False], "best": [True, False, False]}


@pytest.mark.parametrize(("keep", "kept"), [("latest", 80), ("best", 10)])
def test_a_lucky_snapshot_of_the_first_iterations_counts_only_as_best(setting, keep, kept):
    """Eight snapshots of 80 iterations, the first the luckiest, rows legal from the 56th on."""
    resolved = recipe.load("default", {**QUICK, "selection.keep": keep, "inputs.iterations": 80, "inputs.harden": 0.7})
    scores = jnp.full((8, 1 + keeping.GROUPS[keep]), 0.5).at[0].set(0.9)
    snapshots = jnp.arange(8.0)[:, None, None]
    passed = Passed(scores, scores, snapshots, snapshots, 10 * jnp.arange(1, 9))
    state = keeping.choose(resolved, setting.begin(resolved), passed, scores)
    assert int(state.kept_iteration) == kept

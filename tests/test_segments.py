import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attar import recipe
from attar.errors import RecipeError
from attar.segments import SAMPLERS


def draws(method, iteration=0, **changes):
    settings = recipe.load("default", {"method": method, **changes})
    sampler = SAMPLERS[settings.segments.sampler]
    sampler.check(settings)
    keys = jax.random.split(jax.random.key(0), 2000)
    start, end = jax.vmap(lambda key: sampler.draw(key, settings, jnp.int32(iteration)))(keys)
    return np.asarray(start, np.float64), np.asarray(end, np.float64)


@pytest.mark.parametrize("length", [0.2, 0.5, 1.0])
def test_uniform_segments_have_their_length_and_lie_anywhere(length):
    start, end = draws("btm", **{"segments.length": length})
    np.testing.assert_allclose(end - start, length, atol=1e-6)
    assert start.min() >= 0
    assert end.max() <= 1 + 1e-6
    if length < 1:
        assert np.histogram(start, 4, (0, 1 - length))[0].min() > 400


def test_epoch_segments_begin_at_every_epoch_that_leaves_room():
    start, end = draws("mtt")
    epochs = np.rint(start * 30)
    np.testing.assert_allclose(start * 30, epochs, atol=1e-4)
    np.testing.assert_allclose((end - start) * 30, 5, atol=1e-4)
    values, counts = np.unique(epochs, return_counts=True)
    assert values.tolist() == list(range(26))
    assert counts.min() > 40


def test_the_staged_window_grows_and_holds_whole_segments():
    settings = {"segments.windows": [[1, 2, 10, 20]], "inputs.iterations": 1000}
    last = []
    for iteration in (0, 100, 199, 200, 999):
        start, end = draws("datm", iteration, **settings)
        assert start.min() * 30 == pytest.approx(2, abs=1e-4)
        last.append(round(end.max() * 30))
    assert last == [10, 15, 19, 20, 20]


@pytest.mark.parametrize(
    ("per_class", "window"), [(1, (0, 6)), (50, (0, 6)), (100, (3, 8)), (150, (3, 8)), (500, (6, 12))]
)
def test_the_window_is_the_one_of_the_budget(per_class, window):
    start, end = draws("datm", per_class=per_class)
    assert (round(start.min() * 30), round(end.max() * 30)) == window


@pytest.mark.parametrize(
    ("method", "changes", "words"),
    [
        ("mtt", {"teachers.epochs": 4}, ["'segments.epochs' is 5", "4 epochs", "1 to 4"]),
        (
            "datm",
            {"teachers.epochs": 20, "per_class": 200},
            ["'segments.windows'", "6 to 12, later to 30", "20 trained"],
        ),
        ("datm", {"segments.windows": [[1, 0, 4, 30]]}, ["'segments.windows'", "0 to 4", "5 epochs"]),
        ("datm", {"segments.windows": [[1, 0, 20, 10]]}, ["'segments.windows'", "later to 10"]),
        ("datm", {"segments.windows": []}, ["'segments.windows'", "at least 1"]),
        ("datm", {"segments.windows": [[1, -3, 20, 10]]}, ["'segments.windows", "greater than or equal to 0"]),
        ("datm", {"segments.ramp": 0}, ["'segments.ramp' is 0", "greater than 0"]),
        ("mtt", {"segments.epochs": 0}, ["'segments.epochs' is 0", "greater than or equal to 1"]),
    ],
)
def test_what_does_not_fit_is_refused_with_its_range(method, changes, words):
    with pytest.raises(RecipeError) as caught:
        draws(method, **changes)
    for word in words:
        assert word in str(caught.value)

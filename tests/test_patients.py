import jax
import numpy as np

from attar.patients import balanced


def test_both_classes_of_every_label_are_drawn_alike_often():
    """A rare label and a common one: each draw picks a label, then a class of it."""
    rng = np.random.default_rng(0)
    y = (rng.uniform(size=(2000, 2)) < np.array([0.02, 0.6])).astype(np.float32)
    x = np.concatenate([y, np.arange(2000, dtype=np.float32)[:, None]], axis=1)
    drawn = np.asarray(balanced(x, y).draw(jax.random.key(0), 20000))
    chance = np.where(y == 1, 0.5 / y.sum(axis=0), 0.5 / (1 - y).sum(axis=0)).mean(axis=1)
    np.testing.assert_allclose(drawn[:, :2].mean(axis=0), chance @ y, atol=0.015)
    one = np.asarray(balanced(x, y[:, :1]).draw(jax.random.key(0), 20000))
    np.testing.assert_allclose(one[:, 0].mean(), 0.5, atol=0.015)


def test_a_label_that_nobody_has_leaves_draws_of_the_others():
    y = np.zeros((50, 2), np.float32)
    y[:5, 0] = 1
    drawn = np.asarray(balanced(y, y).draw(jax.random.key(0), 100))
    assert drawn.shape == (100, 2)
    assert drawn[:, 0].mean() > 0.1


def test_rows_that_fill_up_are_never_drawn():
    rng = np.random.default_rng(0)
    y = (rng.uniform(size=(1025, 1)) < 0.1).astype(np.float32)
    patients = balanced(np.full((1025, 1), 7.0, np.float32), y)
    assert len(patients.x) == 2048
    assert (np.asarray(patients.draw(jax.random.key(1), 50000)) == 7.0).all()


def test_patients_among_all_are_as_they_are_distributed():
    rng = np.random.default_rng(0)
    y = (rng.uniform(size=(1500, 1)) < 0.1).astype(np.float32)
    x = np.concatenate([y, np.arange(1500, dtype=np.float32)[:, None]], axis=1)
    some = np.asarray(balanced(x, y).among(300))
    assert some[0, 1] == 0
    assert some[-1, 1] == 1499
    assert len(np.unique(some[:, 1])) == 300
    assert abs(some[:, 0].mean() - y.mean()) < 0.05

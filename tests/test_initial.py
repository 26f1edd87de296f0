import numpy as np
import pytest

from attar import initial


def table(rng, rows=400, positives=60, features=5):
    y = np.zeros((rows, 1), np.float32)
    y[:positives] = 1
    x = rng.normal(size=(rows, features)).astype(np.float32) + 2 * y
    return x, y


def test_real_rows_balanced_and_distinct(rng):
    x, y = table(rng)
    start = initial.draw(x, y, 50, "real", np.random.default_rng(1))
    assert start.x.shape == (100, 5)
    assert start.y[:, 0].tolist() == [0.0] * 50 + [1.0] * 50
    np.testing.assert_array_equal(start.x, x[start.source])
    assert len(set(start.source.tolist())) == 100
    assert start.notes == ()


def test_small_class_is_drawn_again_with_jitter_and_says_so(rng):
    x, y = table(rng, positives=20)
    start = initial.draw(x, y, 50, "real", np.random.default_rng(1))
    gaps = np.abs(start.x - x[start.source]).max(axis=1)
    assert (gaps[:50] == 0).all()
    assert (gaps[50:] > 0).all()
    assert len(np.unique(start.x, axis=0)) == 100
    assert "Class 1 has 20 training rows" in start.notes[0]


def test_gaussian_rows_have_their_class_mean_and_no_source(rng):
    x, y = table(rng, rows=4000, positives=2000)
    start = initial.draw(x, y, 500, "gaussian", np.random.default_rng(1))
    assert (start.source == -1).all()
    np.testing.assert_allclose(start.x[:500].mean(axis=0), x[2000:].mean(axis=0), atol=0.2)
    np.testing.assert_allclose(start.x[500:].mean(axis=0), x[:2000].mean(axis=0), atol=0.2)
    np.testing.assert_allclose(np.cov(start.x[500:], rowvar=False), np.eye(5), atol=0.25)


def test_multi_label_budget_and_a_positive_for_every_label(rng):
    y = (rng.random((600, 4)) < [0.5, 0.2, 0.1, 0.05]).astype(np.float32)
    x = rng.normal(size=(600, 3)).astype(np.float32)
    start = initial.draw(x, y, 10, "real", np.random.default_rng(0))
    assert len(start.x) == initial.budget(y, 10) == round(10 * 4 / y.sum(axis=1).mean())
    assert (start.y.sum(axis=0) >= 5).all()
    assert (start.y.sum(axis=1) == 0).any()


@pytest.mark.parametrize("start", ["real", "gaussian"])
def test_same_seed_same_rows(rng, start):
    x, y = table(rng)
    one, two = (initial.draw(x, y, 10, start, np.random.default_rng(7)).x for _ in range(2))
    np.testing.assert_array_equal(one, two)

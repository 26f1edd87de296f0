import numpy as np
import pytest

from attar import coreset, initial
from attar.coreset import CORESETS


def cloud(rng, rows=300, features=4):
    y = np.zeros((rows, 1), np.float32)
    y[: rows // 5] = 1
    return (rng.normal(size=(rows, features)) * [1, 2, 1, 3] + 2 * y).astype(np.float32), y


@pytest.mark.parametrize("name", ["random", "herding", "k-centre"])
def test_real_rows_of_every_class_each_once(name, rng):
    x, y = cloud(rng)
    found = coreset.choose(CORESETS[name], x, y, 20, np.random.default_rng(0))
    assert found.y.sum() == 20
    assert len(set(found.source.tolist())) == 40
    np.testing.assert_array_equal(found.x, x[found.source])
    np.testing.assert_array_equal(found.y, y[found.source])
    again = coreset.choose(CORESETS[name], x, y, 20, np.random.default_rng(0))
    np.testing.assert_array_equal(again.source, found.source)


def test_herding_keeps_the_mean_and_k_centre_leaves_nobody_far(rng):
    x, _ = cloud(rng)
    sets = {name: x[CORESETS[name](x, 20, np.random.default_rng(0))] for name in ("random", "herding", "k-centre")}
    shift = {name: np.linalg.norm(rows.mean(axis=0) - x.mean(axis=0)) for name, rows in sets.items()}
    assert shift["herding"] < 0.2 * shift["random"]
    farthest = {name: np.linalg.norm(x[:, None] - rows[None], axis=2).min(axis=1).max() for name, rows in sets.items()}
    assert farthest["k-centre"] < 0.8 * min(farthest["random"], farthest["herding"])


def test_k_centre_by_hand():
    x = np.array([[0.0], [1.0], [5.0], [6.0], [10.0], [10.0]])
    assert x[coreset.k_centre(x, 3, np.random.default_rng(0)), 0].tolist() == [5.0, 0.0, 10.0]
    assert sorted(coreset.k_centre(x, 6, np.random.default_rng(0)).tolist()) == list(range(6))


def test_nothing_wanted_and_equal_rows(rng):
    x, y = rng.normal(size=(200, 3)).astype(np.float32), (rng.random((200, 8)) < 0.3).astype(np.float32)
    for name in ("herding", "k-centre"):
        assert len(coreset.choose(CORESETS[name], x, y, 1, np.random.default_rng(0)).x) == initial.budget(y, 1) < 8
    assert sorted(coreset.k_centre(np.zeros((3, 2)), 3, np.random.default_rng(0)).tolist()) == [0, 1, 2]


def test_everyone_is_the_training_split_and_a_small_class_is_said(rng):
    x, y = cloud(rng)
    found = coreset.choose(CORESETS["everyone"], x, y, 20, np.random.default_rng(0))
    np.testing.assert_array_equal(found.x, x)
    assert len(found.notes) == 1
    assert "real patients" in found.notes[0]
    short = coreset.choose(CORESETS["herding"], x, y, 80, np.random.default_rng(0))
    assert (len(short.x), short.y.sum()) == (140, 60)
    assert "only 60 training rows" in short.notes[1]


def test_several_labels_each_have_positives(rng):
    y = (rng.random((400, 3)) < [0.3, 0.1, 0.05]).astype(np.float32)
    x = rng.normal(size=(400, 5)).astype(np.float32)
    found = coreset.choose(CORESETS["k-centre"], x, y, 10, np.random.default_rng(0))
    assert (found.y.sum(axis=0) >= 5).all()
    assert len(set(found.source.tolist())) == len(found.source)

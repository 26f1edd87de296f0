import numpy as np
import pytest

from attar import recipe
from attar.errors import RunError
from attar.models.mlp import MLP
from attar.storage import Vault

MODEL = MLP(27, 1, 64, 0.25)


def vault(store, count=3, seed=0):
    return Vault(MODEL, recipe.load("default", {"teachers.store": store, "teachers.count": count, "seed": seed}))


def trainings(vault, epochs=4):
    steps = np.random.default_rng(0).normal(0, 0.05, (len(vault.starts), epochs, MODEL.size)).astype(np.float32)
    return np.concatenate([vault.starts[:, None], vault.starts[:, None] + steps.cumsum(axis=1)], axis=1)


@pytest.mark.parametrize(("store", "vectors"), [("whole", 5), ("seeded", 4), ("float16", 2)])
def test_teachers_come_back_and_take_the_promised_bytes(store, vectors):
    here = vault(store)
    points = trainings(here)
    stored = here.pack_teachers(points)
    again = vault(store).unpack_teachers(stored)
    np.testing.assert_array_equal(again[:, 0], points[:, 0])
    if store == "float16":
        np.testing.assert_allclose(again, points, atol=1e-3)
    else:
        np.testing.assert_array_equal(again, points)
    assert sum(array.nbytes for array in stored.values()) == pytest.approx(vectors * 3 * MODEL.size * 4, abs=8)


def test_only_parameter_vectors_are_halved():
    here = vault("float16")
    position = np.random.default_rng(0).random((3, 5, 4)).astype(np.float32)
    stored = here.pack({"anchors": trainings(here)[:, 1:3], "position": position})
    assert stored["anchors"].dtype == np.float16
    np.testing.assert_array_equal(here.unpack(stored)["position"], position)


def test_other_starts_than_the_stored_ones_are_refused():
    stored = vault("seeded").pack_teachers(trainings(vault("seeded")))
    with pytest.raises(RunError, match="draws other initial networks"):
        vault("seeded", seed=1).unpack_teachers(stored)

"""What of the teachers and paths is stored: their starts need not be, and half precision is an option.

whole: every vector. seeded: the starts are drawn again from the seed. float16: besides, every other vector as its
difference from its teacher's start in half precision, which is half the bytes.
"""

import zlib

import jax
import numpy as np

from attar import teach
from attar.errors import RunError
from attar.models import Model
from attar.recipe import Recipe

Arrays = dict[str, np.ndarray]


class Vault:
    """Packs what belongs to the teachers of one recipe, and unpacks it."""

    def __init__(self, model: Model, recipe: Recipe) -> None:
        self.mode, self.recipe, self.size = recipe.teachers.store, recipe, model.size
        self.starts = np.asarray(teach.starts(model, recipe.seed, recipe.teachers.count))

    def pack_teachers(self, points: np.ndarray) -> Arrays:
        """Return what is written of points [teachers, points, p], the first of which are the starts."""
        if self.mode == "whole":
            return {"points": points}
        return self.pack({"points": points[:, 1:]}) | {"start_checksum": np.array(self._checksum())}

    def unpack_teachers(self, stored: Arrays) -> np.ndarray:
        """Return points [teachers, points, p] from what was written."""
        if self.mode == "whole":
            return stored["points"]
        if stored["start_checksum"] != self._checksum():
            raise RunError(
                "This machine draws other initial networks from the seed than the one this run was made on (JAX is now "
                f"{jax.__version__}), so its paths cannot be restored. Use the versions in its manifest.json, or make "
                'the run anew; teachers.store = "whole" avoids this.'
            )
        return np.concatenate([self.starts[:, None], self.unpack(stored)["points"]], axis=1)

    def pack(self, arrays: Arrays) -> Arrays:
        """Return arrays as written: vectors [teachers, ..., p] in the chosen precision, others as they are."""
        packed = {}
        for name, array in arrays.items():
            half = self.mode == "float16" and array.shape[-1] == self.size
            packed[name] = (array - self._starts_like(array)).astype(np.float16) if half else np.asarray(array)
        return packed

    def unpack(self, stored: Arrays) -> Arrays:
        """Return arrays from what was written."""
        return {
            name: self._starts_like(array) + array.astype(np.float32) if array.dtype == np.float16 else array
            for name, array in stored.items()
        }

    def _starts_like(self, array: np.ndarray) -> np.ndarray:
        return self.starts.reshape(len(self.starts), *(1 for _ in array.shape[1:-1]), self.size)

    def _checksum(self) -> int:
        return zlib.crc32(self.starts.tobytes())

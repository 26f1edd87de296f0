"""The run folder: what is written, atomically; who may write; whether it belongs to this run. No pickle anywhere."""

import errno
import io
import json
import math
import os
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from attar.errors import RunError
from attar.recipe import Recipe
from attar.recipe import load as load_recipe

Arrays = dict[str, np.ndarray]


class Folder:
    """A folder whose files are written whole or not at all."""

    option = "--out"

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def has(self, name: str) -> bool:
        """Tell whether a file was written."""
        return (self.folder / name).is_file()

    def size(self, name: str) -> int:
        """Return the bytes of a file."""
        return (self.folder / name).stat().st_size

    def remove(self, name: str) -> None:
        """Remove a file that is no longer needed."""
        (self.folder / name).unlink(missing_ok=True)

    def write(self, name: str, data: bytes) -> None:
        """Write a file so that a crash leaves the old one or the new one, never half of it."""
        path, part = self.folder / name, self.folder / f".{name}.{uuid.uuid4().hex}.part"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except OSError as error:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise RunError(_cannot_write(path, error, self.option)) from None

    def write_json(self, name: str, value: Any) -> None:
        """Write JSON that a person can read."""
        self.write(name, (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())

    def read_json(self, name: str) -> Any:
        """Read a JSON file of the run."""
        try:
            return json.loads(self._read(name))
        except ValueError:
            raise RunError(_damaged(self.folder / name)) from None

    def write_arrays(self, name: str, arrays: Mapping[str, Any]) -> None:
        """Write named arrays as safetensors."""
        self.write(name, save_tensors({key: np.asarray(value, order="C") for key, value in arrays.items()}))

    def read_arrays(self, name: str) -> Arrays:
        """Read named arrays."""
        try:
            return load_tensors(self._read(name))
        except SafetensorError:
            raise RunError(_damaged(self.folder / name)) from None

    def map_array(self, name: str) -> np.ndarray:
        """Return the only array of a file, of float32, as a view of it: what nobody looks at is not read."""
        path = self.folder / name
        try:
            with safe_open(path, "np") as file:
                shape = tuple(file.get_slice(next(iter(file.keys()))).get_shape())
        except SafetensorError:
            raise RunError(_damaged(path)) from None
        return np.memmap(path, np.float32, "r", self.size(name) - 4 * math.prod(shape), shape)

    def write_table(self, name: str, table: pd.DataFrame) -> None:
        """Write a table as Parquet, or as CSV by the name's ending."""
        if name.endswith(".csv"):
            self.write(name, table.to_csv(index=False, lineterminator="\n").encode())
            return
        buffer = io.BytesIO()
        table.to_parquet(buffer, index=False, compression="zstd")
        self.write(name, buffer.getvalue())

    def read_table(self, name: str) -> pd.DataFrame:
        """Read a Parquet table of the run."""
        try:
            return pd.read_parquet(io.BytesIO(self._read(name)))
        except pa.ArrowException:
            raise RunError(_damaged(self.folder / name)) from None

    def _read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()


class Run(Folder):
    """A run folder. Use as a context manager to hold it alone; reading needs no hold."""

    def __init__(self, folder: str | Path) -> None:
        super().__init__(folder)
        self._lock = FileLock(self.folder / ".lock", timeout=0)

    def __enter__(self) -> Self:
        if self.folder.exists() and not self.folder.is_dir():
            raise RunError(f"{self.folder} is a file. Give --out the name of a folder.")
        if self.folder.is_dir() and not self.has("manifest.json") and self._strangers():
            raise RunError(
                f"The folder {self.folder} is not empty and holds no attar run, so nothing was written there. "
                "Give --out a new name or an empty folder."
            )
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout:
            raise RunError(
                f"Another attar process is working in {self.folder}. Wait for it to end, or give --out another folder."
            ) from None
        except OSError as error:
            raise RunError(_cannot_write(self.folder, error, self.option)) from None
        for leftover in self.folder.glob(".*.part"):
            leftover.unlink()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def recipe(self) -> Recipe:
        """Read the run's settings."""
        self._read("recipe.toml")
        return load_recipe(self.folder / "recipe.toml")

    def settled(self) -> Recipe:
        """Read the run's settings with what the run found out itself in place of what the recipe asked."""
        return load_recipe(self.recipe().model_dump(), self.manifest().get("settled", {}))

    def manifest(self) -> dict[str, Any]:
        """Read what the run says about itself."""
        manifest: dict[str, Any] = self.read_json("manifest.json")
        return manifest

    def claim(self, recipe: Recipe, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Make the folder this run's, or check that it is; return its manifest.

        A folder made from other data, other settings or by another version is refused, naming the difference.
        """
        if not self.has("manifest.json"):
            self.write("recipe.toml", recipe.toml().encode())
            self.write_json("manifest.json", manifest)
            return dict(manifest)
        found = self.manifest()
        differences = []
        if found["attar"] != manifest["attar"]:
            differences.append(f"it was made by attar {found['attar']}, this is {manifest['attar']}")
        if found["cohort"]["fingerprint"] != manifest["cohort"]["fingerprint"]:
            differences.append("its data are not these (other rows, values, columns, target, id or groups)")
        before, now = self.recipe().flat(), recipe.flat()
        differences += [
            f"{key} was {before.get(key)!r}, now {now[key]!r}" for key in now if before.get(key) != now[key]
        ]
        if differences:
            raise RunError(
                f"The folder {self.folder} belongs to another run: {'; '.join(differences)}. "
                "Give --out a new folder, or the settings of that run to continue it."
            )
        return found

    def _strangers(self) -> list[Path]:
        """List what a run killed before its manifest was written cannot have left."""
        own = {".lock", "recipe.toml"}
        return [path for path in self.folder.iterdir() if path.name not in own and path.suffix != ".part"]

    def _read(self, name: str) -> bytes:
        path = self.folder / name
        if not self.folder.is_dir() or not self.has("manifest.json"):
            raise RunError(
                f"{self.folder} is not an attar run folder. Give the --out folder of an earlier attar condense."
            )
        if not path.is_file():
            raise RunError(f"The run in {self.folder} has no {name} yet. Finish it with the command that started it.")
        return path.read_bytes()


def _damaged(path: Path) -> str:
    return f"{path} is damaged. Remove it and run the same command again to make it anew."


def _cannot_write(path: Path, error: OSError, option: str) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"No space is left on the disk for {path}. Free some and run the same command again: it goes on from there."
        )
    return f"Cannot write {path}: {error.strerror}. Give {option} a folder that can be written."

"""A prepared cohort on disk: what `attar prepare` writes and `attar condense` reads, a table or hourly series."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from attar.cohort.files import read_parquet
from attar.cohort.schema import Channel
from attar.errors import DataError
from attar.store import Folder

FORMAT = 1


@dataclass(frozen=True, eq=False)
class Prepared:
    """One cohort as a source gives it: a row of `patients` for each stay, in the order of `values`.

    `values` [stays, hours, channels] holds NaN where nothing was measured; a table has none. Columns of `patients` that
    are neither id, target nor group are inputs. `kept` and `dropped` count what became of the source's rows and files,
    in the words a user reads: {"stays": 11988}, {"stays without any measurement": 12}.
    """

    name: str
    patients: pd.DataFrame
    targets: tuple[str, ...]
    id: str | None = None
    groups: tuple[str, ...] = ()
    values: NDArray[np.float32] | None = None
    channels: tuple[Channel, ...] = ()
    title: str = ""
    kept: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class _Card(BaseModel):
    """What cohort.json holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int
    name: str
    title: str
    targets: tuple[str, ...]
    id: str | None
    groups: tuple[str, ...]
    hours: int
    channels: tuple[Channel, ...]
    kept: dict[str, int]
    dropped: dict[str, int]
    notes: tuple[str, ...]


def save(prepared: Prepared, path: Path) -> None:
    """Write a prepared cohort into a folder; its card comes last, so that half a cohort is not taken for one."""
    folder = Folder(path)
    folder.remove("cohort.json")
    folder.write_table("patients.parquet", prepared.patients)
    hours = 0
    if prepared.values is not None:
        hours = prepared.values.shape[1]
        folder.write_arrays("values.safetensors", {"values": prepared.values})
    card = _Card(
        format=FORMAT,
        name=prepared.name,
        title=prepared.title,
        targets=prepared.targets,
        id=prepared.id,
        groups=prepared.groups,
        hours=hours,
        channels=prepared.channels,
        kept=dict(prepared.kept),
        dropped=dict(prepared.dropped),
        notes=prepared.notes,
    )
    folder.write_json("cohort.json", card.model_dump(mode="json"))


def load(path: Path) -> Prepared:
    """Read a prepared cohort from its folder."""
    folder = Folder(path)
    if not folder.has("cohort.json"):
        raise DataError(
            f"{path} is a folder without a prepared cohort. Give a file, or a folder made by attar prepare."
        )
    try:
        card = _Card.model_validate(json.loads((path / "cohort.json").read_bytes()))
    except (ValueError, ValidationError):
        raise DataError(
            f"{path / 'cohort.json'} is damaged or from another version. Run attar prepare again."
        ) from None
    needed = ["patients.parquet", *(["values.safetensors"] if card.channels else [])]
    absent = [name for name in needed if not folder.has(name)]
    if absent:
        raise DataError(f"{path} lacks {' and '.join(absent)}. Run attar prepare again.")
    patients = read_parquet(path / "patients.parquet", str(path / "patients.parquet"))
    values = folder.read_arrays("values.safetensors")["values"] if card.channels else None
    if values is not None and values.shape != (len(patients), card.hours, len(card.channels)):
        raise DataError(f"The files in {path} do not belong together. Run attar prepare again.")
    return Prepared(
        name=card.name,
        patients=patients,
        targets=card.targets,
        id=card.id,
        groups=card.groups,
        values=values,
        channels=card.channels,
        title=card.title,
        kept=card.kept,
        dropped=card.dropped,
        notes=card.notes,
    )

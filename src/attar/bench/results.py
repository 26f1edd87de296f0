"""What a benchmark found: one Parquet table in long form, a row a number, safe under a crash and several writers."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from attar.errors import RunError
from attar.store import Folder

FILE = "results.parquet"


class Row(NamedTuple):
    """One number of a run: a score of an arm, or a point (x, value) of a curve; std and values over initialisations."""

    cell: str
    cohort: str
    method: str
    per_class: int
    seed: int
    variant: str
    want: str
    model: str
    arm: str
    measure: str
    label: str
    x: float
    value: float
    std: float = math.nan
    values: tuple[float, ...] = ()


SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("cell", "cohort", "method")]
    + [("per_class", pa.int64()), ("seed", pa.int64())]
    + [(name, pa.string()) for name in ("variant", "want", "model", "arm", "measure", "label")]
    + [(name, pa.float64()) for name in ("x", "value", "std")]
    + [("values", pa.list_(pa.float64()))]
)


def read(folder: Path) -> pd.DataFrame:
    """Return all rows so far, none if there are none."""
    return _table(folder).to_pandas()


def done(folder: Path) -> set[tuple[str, str, str]]:
    """Return which (cell, variant, want) are there."""
    columns = _table(folder).select(["cell", "variant", "want"]).to_pydict()
    return set(zip(*columns.values(), strict=True))


def append(folder: Path, rows: Iterable[Row]) -> None:
    """Add rows, all or none; those of a (cell, variant, want) that is there already are left out.

    Writers wait for each other, and the table is replaced by a whole new one, so that no reader meets half of one.
    """
    with FileLock(folder / ".results.lock"):
        known = done(folder)
        fresh = [row._asdict() for row in rows if (row.cell, row.variant, row.want) not in known]
        if not fresh:
            return
        whole = pa.concat_tables([_table(folder), pa.Table.from_pylist(fresh, SCHEMA)])
        content = pa.BufferOutputStream()
        pq.write_table(whole, content)
        Folder(folder).write(FILE, content.getvalue().to_pybytes())


def _table(folder: Path) -> pa.Table:
    path = folder / FILE
    if not path.is_file():
        return SCHEMA.empty_table()
    try:
        return pq.read_table(path, schema=SCHEMA)
    except (pa.ArrowInvalid, OSError) as error:
        raise RunError(f"{path} is damaged ({type(error).__name__}). Remove it: the runs beside it are kept.") from None

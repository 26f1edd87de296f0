"""Where a cohort is read from: a built-in name, a file, or a folder made by `attar prepare`."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from attar.cohort import prepared
from attar.cohort.builtin import CATALOGUE
from attar.cohort.files import read as read_file
from attar.cohort.series import Series
from attar.errors import DataError, nearest


@dataclass(frozen=True, eq=False)
class Origin:
    """A table as it was found, series beside it, and the parts that its columns are known to play."""

    name: str
    frame: pd.DataFrame
    series: Series | None = None
    targets: tuple[str, ...] = ()
    id: str | None = None
    groups: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def find(source: str | Path) -> Origin:
    """Read what is there."""
    known = CATALOGUE.get(str(source))
    if known is not None:
        return Origin(known.name, known.frame(), targets=known.targets)
    path = Path(source)
    if path.is_dir():
        found = prepared.load(path)
        series = None if found.values is None else Series(found.values, found.channels)
        name = path.resolve().name
        return Origin(name, found.patients, series, found.targets, found.id, found.groups)
    if not path.suffix and not path.exists():
        raise DataError(
            f"{str(source)!r} is no built-in cohort, no file and no folder.{nearest(str(source), CATALOGUE)}"
        )
    frame, warnings = read_file(path)
    return Origin(path.name.split(".")[0], frame, warnings=warnings)

"""What a user may say about a source; each takes some of these."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """Options of `attar prepare`. What a source does not take, it refuses.

    hours: length of the grid. only: sets or sites to read. outcomes: table of outcomes and other columns, a row a
    patient. target: outcome columns. task, features, collapse, ids: which FIDDLE task, features (a regular expression
    or a file of names), rule over time, and file of ids. patient, time, variable, value: columns of a long table. sums:
    variables that are added up within an hour.
    """

    hours: int = 48
    only: tuple[str, ...] = ()
    outcomes: Path | None = None
    target: tuple[str, ...] = ()
    task: str = "mortality_48h"
    features: str | None = None
    collapse: str = "any"
    ids: Path | None = None
    patient: str = "patient"
    time: str = "time"
    variable: str = "variable"
    value: str = "value"
    sums: tuple[str, ...] = ()

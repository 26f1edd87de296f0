"""Where cohorts come from; a new source is a file here and a row in `SOURCES`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from attar.cohort.prepared import Prepared, save
from attar.cohort.schema import distinct, recognised_positive
from attar.cohort.sources import eicu, mimic3, nhs, physionet2012, physionet2019, series
from attar.cohort.sources.options import Options
from attar.errors import DataError, RecipeError, RunError, nearest
from attar.progress import Watch


@dataclass(frozen=True)
class Source:
    """One kind of files: how it is read, and which options it takes."""

    read: Callable[[Path, Options, Watch], list[Prepared]]
    takes: tuple[str, ...]


SOURCES: Mapping[str, Source] = {
    "mimic3-mortality": Source(mimic3.read_mortality, ("hours", "only")),
    "mimic3-phenotyping": Source(mimic3.read_phenotyping, ("hours", "only")),
    "eicu-fiddle": Source(eicu.read, ("task", "features", "collapse", "ids")),
    "nhs": Source(nhs.read, ("target", "only")),
    "physionet2012": Source(physionet2012.read, ("hours", "only", "outcomes")),
    "physionet2019": Source(physionet2019.read, ("hours", "outcomes")),
    "series": Source(series.read, ("hours", "outcomes", "target", "patient", "time", "variable", "value", "sums")),
}


def read(name: str, path: Path, options: Options, watch: Watch) -> list[Prepared]:
    """Read a source; several cohorts only where it keeps sites apart."""
    if name not in SOURCES:
        raise RecipeError(f"There is no source {name!r}.{nearest(name, SOURCES)}")
    source, untouched = SOURCES[name], Options()
    for option in fields(Options):
        if option.name not in source.takes and getattr(options, option.name) != getattr(untouched, option.name):
            takes = ", ".join(f"--{other}" for other in source.takes)
            raise RecipeError(f"The source {name} takes no --{option.name}. It takes {takes}.")
    if not path.exists():
        raise DataError(f"There is no file or folder {path}. Check the spelling and the folder you are in.")
    return source.read(path, options, watch)


def prepare(name: str, path: Path, options: Options, out: Path, watch: Watch) -> dict[str, Any]:
    """Read a source and save its cohorts, one in `out` or several in folders; return what was kept and dropped."""
    if out.is_dir() and any(out.iterdir()) and not any(out.glob("**/cohort.json")):
        raise RunError(
            f"The folder {out} is not empty and holds no prepared cohort, so nothing was written there. Give --out a "
            "new name."
        )
    cohorts = read(name, path, options, watch)
    summary = {}
    for cohort in cohorts:
        folder = out if len(cohorts) == 1 else out / cohort.name
        save(cohort, folder)
        shape = {} if cohort.values is None else dict(zip(("hours", "channels"), cohort.values.shape[1:], strict=True))
        summary[str(folder)] = {
            "title": cohort.title,
            "rows": len(cohort.patients),
            **shape,
            "targets": {target: _share(cohort.patients[target]) for target in cohort.targets},
            "kept": dict(cohort.kept),
            "dropped": dict(cohort.dropped),
            "notes": list(cohort.notes),
        }
    return {"prepared": summary}


def _share(outcome: pd.Series) -> float:
    """Return the share of patients whose outcome plainly means yes, else of the rarer of its values."""
    known = outcome.dropna()
    yes = recognised_positive(distinct(known)) if known.nunique() == 2 else None
    shares = known.value_counts(normalize=True)
    return float(shares.min() if yes is None else shares[yes])

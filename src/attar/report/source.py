"""What the report of a run is made from: the files of its folder, and nothing else."""

from dataclasses import dataclass
from typing import Any

from attar.cohort.schema import Schema
from attar.methods import Method, method
from attar.recipe import Recipe
from attar.store import Run

Facts = dict[str, Any]


@dataclass(frozen=True)
class Source:
    """A finished run, read."""

    run: Run
    manifest: dict[str, Any]
    recipe: Recipe
    scores: dict[str, Any]

    @property
    def schema(self) -> Schema:
        """Columns, channels and targets of the cohort."""
        return Schema.model_validate(self.manifest["cohort"]["schema"])

    @property
    def method(self) -> Method:
        """The method that made the set."""
        return method(self.recipe.method)

    @property
    def patients(self) -> str:
        """What the rows of the set are: made, or real ones that were picked."""
        return "chosen real patients" if self.method.choose else "condensed patients"


def read(run: Run) -> Source:
    """Read a run folder; RunError if it holds no finished run."""
    return Source(run, run.manifest(), run.settled(), run.read_json("scores.json"))


def rounded(value: float, digits: int = 4) -> float | None:
    """Return a number with so many significant digits, None where it is not finite, so that JSON can hold it."""
    shown = float(f"{value:.{digits}g}")
    return shown if abs(shown) < float("inf") else None

"""The grid of a benchmark as runs to make: each run once, however many tables and figures it serves."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attar.bench.suite import Size, Suite
from attar.cohort import Cohort
from attar.recipe import Recipe, load

NO_VARIANT = "{}"


@dataclass(frozen=True)
class Cell:
    """One run: the cohort as it was named, the settings, and what is measured of it.

    `variants` are the settings that a suite varies, as JSON, one for each suite that the run is a point of.
    """

    name: str
    cohort: str
    recipe: Recipe
    variants: tuple[str, ...]
    wants: tuple[str, ...]
    models: tuple[str, ...]

    @property
    def title(self) -> str:
        """Return what a person calls it."""
        varied = [text for text in self.variants if text != NO_VARIANT]
        return " ".join([self.cohort, self.recipe.method, str(self.recipe.per_class), *varied])


@dataclass(frozen=True)
class Choice:
    """What the user asks for instead of what suites and sizes say; empty is nothing."""

    methods: tuple[str, ...] = ()
    per_class: tuple[int, ...] = ()
    seeds: tuple[int, ...] = ()
    settings: tuple[tuple[str, Any], ...] = ()


def plan(suites: Iterable[Suite], cohorts: Mapping[str, Cohort], size: Size, choice: Choice) -> list[Cell]:
    """Return the runs that the suites need on these cohorts; those that need the same one share it."""
    cells: dict[str, Cell] = {}
    for suite in suites:
        for name, cohort in cohorts.items():
            if suite.labels == "several" and len(cohort.schema.targets) < 2:
                continue
            for recipe, variant in recipes(suite, cohort, size, choice):
                models = tuple(m for m in suite.models if size.models is None or m in size.models)
                cell = Cell(fingerprint(cohort, recipe), name, recipe, (variant,), suite.wants, models)
                cells[cell.name] = join(cells[cell.name], cell) if cell.name in cells else cell
    return sorted(cells.values(), key=lambda cell: (cell.cohort, cell.recipe.seed))


def recipes(suite: Suite, cohort: Cohort, size: Size, choice: Choice) -> Iterable[tuple[Recipe, str]]:
    """Yield the settings of a suite's runs on a cohort, each with what is varied in it."""
    budgets = choice.per_class or (size.per_class if len(suite.per_class) > 1 else None) or suite.per_class
    methods = [method for method in suite.methods if not choice.methods or method in choice.methods]
    varied: Sequence[dict[str, Any]] = [{suite.vary: value} for value in suite.values[: size.values]] or [{}]
    for seed in choice.seeds or size.seeds:
        for per_class in budgets:
            for method in methods:
                for settings in varied:
                    own = {"method": method, "per_class": per_class, "seed": seed}
                    yield (
                        load(cohort.recipe, {**size.settings, **own, **dict(choice.settings), **settings}),
                        json.dumps(settings),
                    )


def fingerprint(cohort: Cohort, recipe: Recipe) -> str:
    """Return a name for a run: the data and every setting."""
    words = json.dumps([cohort.fingerprint, recipe.model_dump(mode="json")], sort_keys=True)
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def join(one: Cell, other: Cell) -> Cell:
    """Return a run that serves both."""
    return replace(
        one,
        variants=_union(one.variants, other.variants),
        wants=_union(one.wants, other.wants),
        models=_union(one.models, other.models),
    )


def _union(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*one, *other]))

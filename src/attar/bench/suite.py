"""What a table or figure of the paper is made of, and how large its runs are; both are TOML files in `suites`."""

from typing import Any, Literal

from pydantic import Field

from attar.bench.suites import names, read
from attar.errors import RecipeError, nearest
from attar.recipe import Count, Section

Labels = Literal["any", "several"]


class Suite(Section):
    """One table or figure: which methods at which budgets, what is varied, and what is measured of each run.

    `shows` is a row of `attar.bench.render.RENDERERS`, `wants` are rows of `attar.bench.measures.WANTS`. Cohorts with
    too few labels are left out.
    """

    name: str
    title: str
    paper: str
    about: str
    shows: str
    methods: tuple[str, ...]
    per_class: tuple[Count, ...] = (50,)
    vary: str = ""
    values: tuple[int | float | str, ...] = ()
    models: tuple[str, ...] = ()
    wants: tuple[str, ...] = ("scores",)
    labels: Labels = "any"


class Size(Section):
    """How long a benchmark takes: settings laid over the cohort's recipe, seeds, and what is left out of the suites."""

    name: str
    about: str
    seeds: tuple[int, ...]
    per_class: tuple[Count, ...] | None = None
    values: Count | None = None
    models: tuple[str, ...] | None = None
    settings: dict[str, Any] = Field(default_factory=dict)


def suite(name: str) -> Suite:
    """Return a suite by its name."""
    if name not in names():
        raise RecipeError(f"There is no suite {name!r}.{nearest(name, ['paper', *names()])}")
    return Suite.model_validate({"name": name, **read(name)})


def sizes() -> list[str]:
    """Return the names of the sizes."""
    return list(read("sizes"))


def size(name: str) -> Size:
    """Return a size by its name."""
    if name not in sizes():
        raise RecipeError(f"There is no size {name!r}.{nearest(name, sizes())}")
    return Size.model_validate({"name": name, **read("sizes")[name]})

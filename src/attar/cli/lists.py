"""Commands that list what there is: cohorts and recipes."""

import json
from typing import Annotated

import typer

from attar.cli.options import Json, Method, Set


def cohorts(as_json: Json = False) -> None:
    """List the cohorts that come with attar."""
    from rich.console import Console

    from attar import show
    from attar.cohort.builtin import CATALOGUE

    rows = [
        {
            "name": row.name,
            "title": row.title,
            "rows": row.rows,
            "features": row.features,
            "targets": dict(zip(row.targets, row.prevalence, strict=True)),
            "licence": row.licence,
            "citation": row.citation,
        }
        for row in CATALOGUE.values()
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        show.catalogue(Console(), rows)


def show_recipe(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Built-in recipe or TOML file.")] = "default",
    method: Method = None,
    settings: Set = None,
) -> None:
    """Print every setting that a recipe comes to, as TOML that --recipe takes back."""
    from attar.recipe import load, parse_overrides

    own = {"method": method} if method else {}
    print(load(name, own | parse_overrides(settings or [])).toml(), end="")


def list_recipes() -> None:
    """List the recipes that come with attar."""
    from attar.recipe import builtin_names

    print("\n".join(builtin_names()))

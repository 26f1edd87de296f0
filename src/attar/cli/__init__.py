"""The command line: a command is a function in a file here and a row below.

Nothing heavy is imported before a command needs it, so that --help answers at once.
"""

import sys
from typing import Annotated

import typer

from attar import __version__
from attar.cli import bench
from attar.cli.condense import condense, demo
from attar.cli.evaluate import evaluate
from attar.cli.explain import geometry, report
from attar.cli.lists import cohorts, list_recipes, show_recipe
from attar.cli.prepare import prepare
from attar.errors import UserError

app = typer.Typer(
    help="Condense a clinical cohort into a few hundred synthetic patients that train a model nearly as well.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (demo, cohorts, prepare, condense, evaluate, geometry, report):
    app.command()(command)

recipes = typer.Typer(help="Show the settings of a recipe.", no_args_is_help=True, rich_markup_mode=None)
recipes.command("show")(show_recipe)
recipes.command("list")(list_recipes)
app.add_typer(recipes, name="recipe")
app.add_typer(bench.app, name="bench")


def main() -> None:
    """Run a command; a user's mistake ends with one paragraph and exit code 2, an interruption with 130."""
    try:
        app()
    except UserError as error:
        from rich.console import Console
        from rich.markup import escape

        Console(stderr=True).print(f"[bold red]error[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(2)


@app.callback(invoke_without_command=True)
def top(show: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False) -> None:
    """Condense a clinical cohort into a few hundred synthetic patients that train a model nearly as well."""
    if show:
        print(f"attar {__version__}")
        raise typer.Exit

"""attar bench: a command for each suite, for all of them, and for what is made of their results."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from attar.bench.suites import names, read
from attar.cli.options import Quiet, Set
from attar.errors import RunError

app = typer.Typer(
    help="Reproduce the tables and figures of the paper on the cohorts at hand.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Cohorts = Annotated[
    str,
    typer.Option(help="Built-in cohorts, prepared folders, or files as cohort.csv@TARGET.", metavar="COHORT,..."),
]
Methods = Annotated[str, typer.Option(help="Only these methods.", metavar="NAME,...")]
Budgets = Annotated[str, typer.Option("--per-class", help="Instead of the suite's.", metavar="N,...")]
Seeds = Annotated[str, typer.Option(help="Instead of the size's.", metavar="N,...")]
SizeName = Annotated[str, typer.Option("--size", help="How large the runs are: quick, standard or full.")]
Out = Annotated[Path, typer.Option(help="Folder of runs and results; an interrupted benchmark there is continued.")]
On = Annotated[str, typer.Option(help="Where runs are made: here, or ray.")]
Address = Annotated[
    str | None, typer.Option("--ray-address", help="A running Ray cluster; default: one on this machine.")
]


def command(suites: list[str]) -> Callable[..., None]:
    """Return the command that runs these suites."""

    def run(
        cohorts: Cohorts = "support2,nhanes",
        methods: Methods = "",
        per_class: Budgets = "",
        seeds: Seeds = "",
        size: SizeName = "quick",
        settings: Set = None,
        out: Out = Path("attar-bench"),
        on: On = "here",
        address: Address = None,
        quiet: Quiet = False,
    ) -> None:
        from attar.bench.cells import Choice
        from attar.bench.grid import Grid, make
        from attar.methods import method
        from attar.recipe import parse_overrides

        for name in words(methods):
            method(name)
        overrides = tuple(parse_overrides(settings or []).items())
        choice = Choice(words(methods), numbers(per_class), numbers(seeds), overrides)
        make(Grid(tuple(suites), words(cohorts), size, choice), out, on, address, quiet)

    return run


def words(text: str) -> tuple[str, ...]:
    """Split a list that was given with commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def numbers(text: str) -> tuple[int, ...]:
    """Split a list of whole numbers that was given with commas."""
    try:
        return tuple(int(word) for word in words(text))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a list of whole numbers such as 50,200.") from None


app.command("paper", help="All suites below, each run once however many tables it serves.")(command(names()))
for name in names():
    app.command(name, help=read(name)["title"] + ".")(command([name]))


@app.command()
def render(folder: Annotated[Path, typer.Argument(metavar="DIR", help="The --out of a benchmark.")]) -> None:
    """Write all tables and figures of a benchmark anew from its results."""
    from attar.bench.render import render as rendered

    for path in rendered(folder):
        print(path)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def speed(context: typer.Context) -> None:
    """Measure how long attar takes on this machine; takes the options of benchmarks/speed.py."""
    script = Path(__file__).parents[3] / "benchmarks" / "speed.py"
    if not script.is_file():
        raise RunError("The speed benchmark is in the source tree, benchmarks/speed.py, and not in the package.")
    sys.exit(subprocess.run([sys.executable, str(script), *context.args], check=False).returncode)

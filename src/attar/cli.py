"""The command line. Nothing heavy is imported before a command needs it, so that --help answers at once."""

import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attar import __version__
from attar.errors import DataError, RecipeError, UserError
from attar.methods import METHODS

if TYPE_CHECKING:
    from attar.cohort import Cohort
    from attar.progress import Watch

app = typer.Typer(
    help="Condense a clinical cohort into a few hundred synthetic patients that train a model nearly as well.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

recipes = typer.Typer(help="Show the settings of a recipe.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(recipes, name="recipe")

CohortName = Annotated[
    str,
    typer.Argument(
        metavar="COHORT",
        help="A built-in cohort (see attar cohorts), a CSV or Parquet file, or a folder made by attar prepare.",
    ),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of an earlier attar condense.")]
Target = Annotated[
    list[str] | None, typer.Option("--target", help="Outcome column; repeat it for several.", metavar="COL")
]
Id = Annotated[
    str | None, typer.Option("--id", help="Patient id: a patient's rows stay on one side of the split.", metavar="COL")
]
Groups = Annotated[list[str] | None, typer.Option(help="Column to report on, kept out of the features.", metavar="COL")]
Features = Annotated[
    list[str] | None, typer.Option(help="Feature column; default: all that play no other part.", metavar="COL")
]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out.", metavar="COL")]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        help="Override what a column was taken for: numeric, integer, binary, categorical.",
        metavar="COL=KIND",
    ),
]
Positive = Annotated[str | None, typer.Option(help="Value of the target that counts as 1.", metavar="VALUE")]
PerClass = Annotated[
    int | None, typer.Option("--per-class", "--ipc", help="Condensed patients per class. [default: 50]")
]
Method = Annotated[str | None, typer.Option(help=f"How to condense: {', '.join(METHODS)}. [default: btm]")]
Out = Annotated[
    Path | None, typer.Option(help="Run folder; an interrupted run there is continued. [default: attar-COHORT]")
]
RecipeName = Annotated[
    str | None,
    typer.Option(
        "--recipe", help="Built-in recipe or TOML file of settings. [default: default, or series for hourly series]"
    ),
]
ShareFolder = Annotated[
    Path | None,
    typer.Option(
        "--share",
        help="Folder where runs on one cohort have teachers and the scores of all real patients in common.",
        metavar="DIR",
    ),
]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="One setting, as teachers.count=20; repeatable.", metavar="KEY=VALUE")
]
Seed = Annotated[int | None, typer.Option(help="The only source of randomness. [default: 0]")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


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


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Run folder; an interrupted demo there is continued.")] = Path("attar-demo"),
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Condense 9,105 seriously ill hospital patients into 100 synthetic ones, in about a minute."""
    _condense("support2", {}, None, {}, out, None, quiet, as_json)


@app.command()
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


@recipes.command("show")
def show_recipe(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Built-in recipe or TOML file.")] = "default",
    method: Method = None,
    settings: Set = None,
) -> None:
    """Print every setting that a recipe comes to, as TOML that --recipe takes back."""
    from attar.recipe import load, parse_overrides

    own = {"method": method} if method else {}
    print(load(name, own | parse_overrides(settings or [])).toml(), end="")


@recipes.command("list")
def list_recipes() -> None:
    """List the recipes that come with attar."""
    from attar.recipe import builtin_names

    print("\n".join(builtin_names()))


@app.command()
def prepare(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="What the files are: mimic3-mortality, mimic3-phenotyping, eicu-fiddle, nhs, physionet2012, "
            "physionet2019, or series (a table of patient, time, variable and value).",
        ),
    ],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The file or folder to read.")],
    out: Annotated[Path, typer.Option(help="Folder for the prepared cohort.")],
    hours: Annotated[int | None, typer.Option(help="Hours of each stay to keep. [default: 48]", min=1)] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Set or site to read; repeat it for several.", metavar="NAME")
    ] = None,
    outcomes: Annotated[Path | None, typer.Option(help="Table of outcomes, a row a patient.", metavar="FILE")] = None,
    target: Target = None,
    task: Annotated[str | None, typer.Option(help="FIDDLE task. [default: mortality_48h]")] = None,
    features: Annotated[
        str | None,
        typer.Option(help="FIDDLE features to keep: a regular expression, or a file of names.", metavar="REGEX"),
    ] = None,
    collapse: Annotated[str | None, typer.Option(help="FIDDLE features over time: any, mean or last.")] = None,
    ids: Annotated[Path | None, typer.Option(help="File of the ids to keep.", metavar="FILE")] = None,
    patient: Annotated[str | None, typer.Option(help="Column of the patient in a long table.", metavar="COL")] = None,
    time: Annotated[str | None, typer.Option(help="Column of the time, in hours or a date.", metavar="COL")] = None,
    variable: Annotated[str | None, typer.Option(help="Column of what was measured.", metavar="COL")] = None,
    value: Annotated[str | None, typer.Option(help="Column of the value.", metavar="COL")] = None,
    sums: Annotated[
        list[str] | None,
        typer.Option(help="Variable that adds up within an hour, such as urine.", metavar="NAME"),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Read a public or gated source once and write a cohort that attar condense takes."""
    from attar.cohort import sources
    from attar.cohort.sources.options import Options

    said: dict[str, Any] = {
        "hours": hours,
        "only": tuple(only or ()),
        "outcomes": outcomes,
        "target": tuple(target or ()),
        "task": task,
        "features": features,
        "collapse": collapse,
        "ids": ids,
        "patient": patient,
        "time": time,
        "variable": variable,
        "value": value,
        "sums": tuple(sums or ()),
    }
    options = Options(**{name: value for name, value in said.items() if value is not None and value != ()})
    begins_anew = "Nothing was written: the same command begins anew."
    _finish(lambda watch: sources.prepare(source, path, options, out, watch), out, quiet, as_json, begins_anew)


@app.command()
def condense(
    cohort: CohortName,
    target: Target = None,
    per_class: PerClass = None,
    method: Method = None,
    out: Out = None,
    recipe: RecipeName = None,
    settings: Set = None,
    seed: Seed = None,
    share: ShareFolder = None,
    patient: Id = None,
    groups: Groups = None,
    features: Features = None,
    drop: Drop = None,
    kinds: Kinds = None,
    positive: Positive = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Condense a cohort and score what models trained on the result reach."""
    from attar.recipe import parse_overrides

    roles = {
        "target": target or None,
        "features": features or None,
        "drop": drop or [],
        "id": patient,
        "groups": groups or [],
        "kinds": _kinds(kinds or []),
        "positive": positive,
    }
    own = {"method": method, "per_class": per_class, "seed": seed}
    overrides = {key: value for key, value in own.items() if value is not None} | parse_overrides(settings or [])
    folder = out or Path(f"attar-{Path(cohort).name.split('.')[0]}")
    _condense(cohort, roles, recipe, overrides, folder, share, quiet, as_json)


@app.command()
def evaluate(
    run: RunFolder,
    cohort: Annotated[
        str | None, typer.Option(help="Where the cohort is now, if it was moved.", metavar="COHORT")
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(help="Other models to train on it, as mlp-3,logistic,random-forest.", metavar="NAME,..."),
    ] = None,
    on_cohort: Annotated[
        str | None,
        typer.Option("--on-cohort", help="Another cohort, with the same target, to test on instead.", metavar="COHORT"),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Score a run's condensed table again, train other models on it, or test on patients from elsewhere."""
    from attar.run import evaluate_across, evaluate_again, evaluate_external, source

    names = [name.strip() for name in models.split(",")] if models else []
    if names and on_cohort:
        raise RecipeError("Give --models or --on-cohort, not both: run the command once for each.")
    if names:
        from attar.evaluate.across import check

        check(names)
    how = source(run)
    path = how.pop("path")
    read = _read(cohort or path, how, quiet or as_json)
    if on_cohort:
        _finish(lambda watch: evaluate_external(read, run, on_cohort, watch), run, quiet, as_json)
    elif names:
        _finish(lambda watch: evaluate_across(read, run, names, watch), run, quiet, as_json)
    else:
        _finish(lambda watch: evaluate_again(read, run, watch), run, quiet, as_json)


def _condense(
    name: str,
    roles: dict[str, Any],
    recipe: str | None,
    overrides: dict[str, Any],
    out: Path,
    share: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    from attar.cohort.builtin import CATALOGUE
    from attar.recipe import load

    resolved = load(recipe or "default", overrides)
    cohort = _read(name, roles, quiet or as_json)
    if recipe is None:
        resolved = load(cohort.recipe, overrides)
    from attar.run import condense_cohort

    path = name if name in CATALOGUE else str(Path(name).resolve())
    source = {"path": path, **roles}
    _finish(lambda watch: condense_cohort(cohort, resolved, out, watch, source, share).scores, out, quiet, as_json)


def _read(name: str, roles: dict[str, Any], silent: bool) -> "Cohort":
    from rich.console import Console

    from attar import show
    from attar.cohort import Cohort

    cohort = Cohort.read(name, **roles)
    if not silent:
        show.cohort(Console(stderr=True), cohort)
    return cohort


RESUMES = "Nothing is lost: the same command continues where it was."


def _finish(
    work: Callable[["Watch"], dict[str, Any]], folder: Path, quiet: bool, as_json: bool, interrupted: str = RESUMES
) -> None:
    from rich.console import Console

    from attar import show

    result = _watched(work, quiet, interrupted)
    if as_json:
        print(json.dumps({"folder": str(folder), **result}, indent=2))
    elif not quiet:
        show.result(Console(), result, folder)


def _watched(work: Callable[["Watch"], dict[str, Any]], quiet: bool, interrupted: str) -> dict[str, Any]:
    from rich.console import Console

    from attar.progress import Bars, Lines, Silent

    terminal = Console(stderr=True)
    watch = nullcontext(Silent()) if quiet else Bars(terminal) if terminal.is_terminal else Lines()
    try:
        with watch as seen:
            return work(seen)
    except KeyboardInterrupt:
        terminal.print(f"Interrupted. {interrupted}")
        raise typer.Exit(130) from None


def _kinds(pairs: list[str]) -> dict[str, str]:
    kinds = dict(pair.rpartition("=")[::2] for pair in pairs)
    if "" in kinds:
        raise DataError(f"--kind {kinds['']!r} is not of the form COL=KIND, as in --kind ward=categorical.")
    return kinds

"""attar evaluate."""

from typing import Annotated, Any

import typer

from attar.cli.options import Json, OtherPlace, Quiet, RunFolder
from attar.cli.work import finish, read_again
from attar.errors import RecipeError


def evaluate(
    run: RunFolder,
    cohort: OtherPlace = None,
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
    """Score a run's condensed table again, train other models on it, or test on patients from elsewhere.

    The run's report is written anew.
    """
    from attar.progress import Watch
    from attar.report import write
    from attar.run import evaluate_across, evaluate_again, evaluate_external

    names = [name.strip() for name in models.split(",")] if models else []
    if names and on_cohort:
        raise RecipeError("Give --models or --on-cohort, not both: run the command once for each.")
    if names:
        from attar.evaluate.across import check

        check(names)
    read = read_again(run, cohort, quiet or as_json)

    def work(watch: Watch) -> dict[str, Any]:
        if on_cohort:
            found = evaluate_external(read, run, on_cohort, watch)
        elif names:
            found = evaluate_across(read, run, names, watch)
        else:
            found = evaluate_again(read, run, watch)
        write(run)
        return found

    finish(work, run, quiet, as_json)

"""attar geometry and attar report."""

from typing import Annotated, Any

import typer

from attar.cli.options import Json, OtherPlace, Quiet, RunFolder
from attar.cli.work import finish, read_again


def geometry(
    run: RunFolder,
    compare: Annotated[
        str,
        typer.Option(help="Methods to set beside the run's, on its teachers; '' for none.", metavar="NAME,..."),
    ] = "mtt,mct,line",
    cohort: OtherPlace = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Say why a run worked or stalled: how broad its supervision was, and how much of it the student could reach."""
    from attar.geometry.analyse import analyse
    from attar.progress import Watch
    from attar.report import write

    methods = [name.strip() for name in compare.split(",") if name.strip()]
    read = read_again(run, cohort, quiet or as_json)

    def work(watch: Watch) -> dict[str, Any]:
        found = analyse(read, run, methods, watch)
        write(run)
        return found

    finish(work, run, quiet, as_json)


def report(run: RunFolder, cohort: OtherPlace = None, quiet: Quiet = False, as_json: Json = False) -> None:
    """Write the report of a finished run anew: report.html, one page for people, and report.json, its facts."""
    from attar.explain import explain

    read = read_again(run, cohort, quiet or as_json)
    finish(lambda watch: {"report": str(explain(read, run, watch))}, run, quiet, as_json)

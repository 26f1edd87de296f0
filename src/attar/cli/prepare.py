"""attar prepare."""

from pathlib import Path
from typing import Annotated, Any

import typer

from attar.cli.options import Json, Quiet, Target
from attar.cli.work import finish


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
    finish(lambda watch: sources.prepare(source, path, options, out, watch), out, quiet, as_json, begins_anew)

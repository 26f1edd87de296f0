"""Options that several commands have in common."""

from pathlib import Path
from typing import Annotated

import typer

from attar.methods import METHODS

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
Groups = Annotated[
    list[str] | None, typer.Option(help="Column kept with the cohort, but out of the features.", metavar="COL")
]
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
OtherPlace = Annotated[
    str | None, typer.Option("--cohort", help="Where the cohort is now, if it was moved.", metavar="COHORT")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

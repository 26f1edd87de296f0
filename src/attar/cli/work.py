"""How a command reads its cohort, shows its work and prints its result."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from attar.cohort import Cohort
    from attar.progress import Watch

RESUMES = "Nothing is lost: the same command continues where it was."


def read(name: str, roles: dict[str, Any], silent: bool) -> "Cohort":
    """Read a cohort and show what its columns were taken for."""
    from rich.console import Console

    from attar import show
    from attar.cohort import Cohort

    cohort = Cohort.read(name, **roles)
    if not silent:
        show.cohort(Console(stderr=True), cohort)
    return cohort


def read_again(run: Path, moved: str | None, silent: bool) -> "Cohort":
    """Read the cohort of a run, from where it is now."""
    from attar.run import source

    roles = source(run)
    path = roles.pop("path")
    return read(moved or path, roles, silent)


def finish(
    work: Callable[["Watch"], dict[str, Any]], folder: Path, quiet: bool, as_json: bool, interrupted: str = RESUMES
) -> None:
    """Do the work in view of the user and print its result; interrupted, say what that means."""
    from rich.console import Console

    from attar import show
    from attar.progress import Bars, Lines, Silent

    terminal = Console(stderr=True)
    watch = nullcontext(Silent()) if quiet else Bars(terminal) if terminal.is_terminal else Lines()
    try:
        with watch as seen:
            result = work(seen)
    except KeyboardInterrupt:
        terminal.print(f"Interrupted. {interrupted}")
        raise typer.Exit(130) from None
    if as_json:
        print(json.dumps({"folder": str(folder), **result}, indent=2))
    elif not quiet:
        show.result(Console(), result, folder)

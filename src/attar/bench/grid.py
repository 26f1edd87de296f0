"""A benchmark from what was asked for to its tables and figures."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from attar import __version__
from attar.bench import runner
from attar.bench.cells import Choice, plan
from attar.bench.live import live
from attar.bench.render import render
from attar.bench.suite import size as size_named
from attar.bench.suite import suite
from attar.errors import RunError


@dataclass(frozen=True)
class Grid:
    """What was asked for."""

    suites: tuple[str, ...]
    cohorts: tuple[str, ...]
    size: str
    choice: Choice


def make(grid: Grid, folder: Path, on: str = "here", address: str | None = None, quiet: bool = False) -> None:
    """Run what is not there yet, then write all tables and figures; a run that failed is told at the end."""
    suites, size = [suite(name) for name in grid.suites], size_named(grid.size)
    cohorts = {name: runner.read(name) for name in grid.cohorts}
    cells = plan(suites, cohorts, size, grid.choice)
    folder.mkdir(parents=True, exist_ok=True)
    left = runner.missing(cells, folder)
    console = Console(stderr=True)
    if not quiet:
        console.print(f"{len(cells)} runs, {len(cells) - len(left)} of them done before.", highlight=False)
    with live(console, left, quiet) as watch:
        standing = runner.run(left, folder, on, address, watch)
    titles = {cell.name: cell.title for cell in cells}
    failed = [{"run": titles[name], "cell": name, "message": text} for name, text in standing.failed.items()]
    asked = {"suites": grid.suites, "cohorts": grid.cohorts, "size": grid.size}
    runner.record(folder, {"attar": __version__, **asked, "runs": len(cells), "failed": failed})
    written = render(folder)
    if not quiet:
        print("\n".join(str(path) for path in written))
    if failed:
        told = "; ".join(f"{each['run']}: {each['message']}" for each in failed)
        raise RunError(f"{len(failed)} of {len(cells)} runs failed, the others are rendered. {told}")

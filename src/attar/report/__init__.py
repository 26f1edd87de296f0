"""The report of a run: facts first (report.json), then one page that needs nothing else (report.html)."""

from pathlib import Path

from attar.report.facts import gather
from attar.report.render import page
from attar.store import Run

__all__ = ["write"]


def write(folder: str | Path) -> Path:
    """Write report.json and report.html of a finished run; the same run gives the same bytes."""
    run = Run(folder)
    facts = gather(run)
    run.write_json("report.json", facts)
    run.write("report.html", page(run, facts).encode())
    return run.folder / "report.html"

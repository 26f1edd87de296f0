"""What people look at when a run has ended: its patients beside the real ones, its geometry, its report."""

from pathlib import Path

from attar import report
from attar.cohort import Cohort
from attar.geometry.analyse import analyse
from attar.methods import method
from attar.progress import Watch
from attar.report import marginals
from attar.run import load
from attar.store import Run


def explain(cohort: Cohort, folder: str | Path, watch: Watch | None = None) -> Path:
    """Write the report of a finished run and what it shows, unless that is there; return the page."""
    with Run(folder) as run:
        recipe = run.settled()
        if not run.has("marginals.json"):
            described = marginals.describe(cohort, cohort.split(recipe.seed), load(folder).tables())
            run.write_json("marginals.json", described)
    if not method(recipe.method).choose and not run.has("geometry.json"):
        analyse(cohort, folder, watch=watch)
    return report.write(folder)

"""How long the analysis of a run takes and how much memory: 50 teachers x 100 epochs, one JSON line a case.

    uv run benchmarks/geometry.py OUT [--only a]

Runs are made of made-up patients in OUT, which keeps them and their trained teachers, so that a second call only
measures. The analysis compares btm with mtt, mct and line, and `alone` is the one that ends every condensation. Each
measurement has a process of its own; its seconds include compilation, its peak memory the interpreter. On a busy
machine the seconds of both cores together (cpu_seconds) say more than those of the clock.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from attar import Cohort, recipe
from attar.geometry.analyse import analyse
from attar.progress import Lines
from attar.run import condense_cohort

CASES = {"a": (27, 64), "b": (402, 256)}
"""Inputs and hidden units."""

ROWS = 1000
COMPARED = ("mtt", "mct", "line")
SETTINGS = {
    "teachers.count": 50,
    "teachers.epochs": 100,
    "path.steps": 20,
    "inputs.iterations": 200,
    "selection.every": 100,
    "evaluate.initialisations": 2,
    "evaluate.draws": 1,
    "evaluate.full_epochs": 2,
}


def made_up(features: int) -> Cohort:
    """Return patients whose outcome depends on a few of their columns."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ROWS, features))
    risk = 1 / (1 + np.exp(1.5 - x[:, :5].sum(axis=1)))
    frame = pd.DataFrame(x, columns=[f"x{column}" for column in range(features)])
    return Cohort.of(frame.assign(died=(rng.uniform(size=ROWS) < risk).astype(int)), "died", name="made-up")


def make(case: str, folder: Path) -> None:
    """Make the run, and leave the teachers' every epoch beside it."""
    features, hidden = CASES[case]
    cohort = made_up(features)
    condense_cohort(cohort, recipe.load("default", SETTINGS | {"model.hidden": hidden}), folder, Lines())
    analyse(cohort, folder, COMPARED, Lines())


def measure(case: str, folder: Path, compare: tuple[str, ...]) -> None:
    """Print what one analysis took."""
    features, hidden = CASES[case]
    cohort, began = made_up(features), time.monotonic()
    found = analyse(cohort, folder, compare)
    seconds, used = time.monotonic() - began, resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "case": f"{case}: {features}-{hidden}-1",
                "parameters": (features + 2) * hidden + 1,
                "compared": list(compare) or "alone",
                "seconds": round(seconds, 1),
                "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
                "peak_mb": round(used.ru_maxrss / 1024),
                "segments": {name: facts["segments"] for name, facts in found["bounds"].items()},
                "below_their_bound": sum(facts["violations"] for facts in found["bounds"].values()),
                "rank_by_entropy": {k: round(v["rank_by_entropy"], 1) for k, v in found["spectrum"].items()},
                "load": round(os.getloadavg()[0], 1),
            }
        ),
        flush=True,
    )


def main() -> None:
    """Make the runs that are not there yet, then measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", choices=list(CASES))
    parser.add_argument("--step", choices=["make", "compared", "alone"], help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.step:
        folder = words.out / words.only
        if words.step == "make":
            make(words.only, folder)
        else:
            measure(words.only, folder, COMPARED if words.step == "compared" else ())
        return
    for case in [words.only] if words.only else list(CASES):
        made = (words.out / case / "geometry.json").is_file()
        for step in ("alone", "compared") if made else ("make", "alone", "compared"):
            subprocess.run([sys.executable, __file__, words.out, "--only", case, "--step", step], check=True)


if __name__ == "__main__":
    main()

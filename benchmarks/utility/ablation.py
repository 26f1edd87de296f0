"""What each mechanism of the default recipe brings: the default with one of them taken back to the paper's setting.

    uv run benchmarks/utility/ablation.py DATA OUT [--cohorts support2 covid sepsis] [--per-class 50] [--seeds 0 1 2]
        [--rows ...]

Prints the share of the full cohort's AUPRC that the exported table reaches, mean over seeds, and in brackets the mean
difference to the default with its standard error over seeds. DATA is that of
benchmarks/cohorts.py; OUT keeps the run folders, so that a second call continues and then only prints.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from runs import COHORTS, run

ROWS: dict[str, dict[str, Any]] = {
    "default": {},
    "students do not stay": {"stay.iterations": 0},
    "students follow nothing before they stay": {"inputs.iterations": 1},
    "no weight decay": {"evaluate.weight_decay": 0.0, "selection.weight_decay": 0.0},
    "neither of both": {"stay.iterations": 0, "evaluate.weight_decay": 0.0, "selection.weight_decay": 0.0},
    "parameters compared, not predictions": {"student.match": "parameters"},
    "compared at the end only": {"student.moments": 1},
    "segments of a fifth of the path": {"segments.length": 0.2},
    "first-order gradient": {"student.gradient": "first-order"},
    "inputs not averaged": {"inputs.average": 0.0},
    "rows legal from the first iteration": {"inputs.harden": 0.0},
    "step size does not fall": {"inputs.decay": 0.0},
    "smaller step that does not fall": {"inputs.decay": 0.0, "inputs.step_size": 0.1},
    "step as long as with 50 per class": {"inputs.per_row": False, "inputs.step_size": 45.0},
    "students see all rows": {"student.batch": "all"},
    "trained for 100 epochs, whatever validation says": {"evaluate.tries": [1]},
    "best validation score kept": {"selection.keep": "best"},
    "teachers of 30 epochs": {"teachers.pilots": 0},
    "prior not aligned": {"teachers.prior": "none"},
    "rows rounded on export only": {"inputs.rows": "free"},
    "straight line": {"path.kind": "line"},
    "all of these as in the paper": {
        "stay.iterations": 0,
        "evaluate.weight_decay": 0.0,
        "selection.weight_decay": 0.0,
        "student.match": "parameters",
        "student.moments": 1,
        "segments.length": 0.2,
        "student.gradient": "first-order",
        "inputs.average": 0.0,
        "inputs.decay": 0.0,
        "inputs.per_row": False,
        "inputs.step_size": 100.0,
        "evaluate.tries": [1],
        "selection.keep": "best",
        "teachers.pilots": 0,
        "teachers.prior": "none",
        "inputs.rows": "free",
    },
}


def main() -> None:
    """Run every row on every cohort and seed, and print a table row as soon as it is complete."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--cohorts", nargs="+", default=["support2", "covid", "sepsis"], choices=list(COHORTS))
    parser.add_argument("--per-class", type=int, default=50)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--rows", nargs="+", default=list(ROWS), choices=list(ROWS))
    words = parser.parse_args()
    cohorts = {name: COHORTS[name](words.data) for name in words.cohorts}
    default: dict[str, np.ndarray] = {}
    print(f"| | {' | '.join(cohorts)} |")
    print(f"|---|{'---|' * len(cohorts)}")
    for title in dict.fromkeys(["default", *words.rows]):
        cells = []
        for name, cohort in cohorts.items():
            arms = [
                run(cohort, words.out, name, seed, {"per_class": words.per_class, **ROWS[title]})
                for seed in words.seeds
            ]
            shares = np.array([one["condensed"]["auprc"]["mean"] / one["full"]["auprc"]["mean"] for one in arms])
            gap = shares - default.setdefault(name, shares)
            error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else 0.0
            cells.append(f"{shares.mean():.3f}" + (f" ({gap.mean():+.3f} ± {error:.3f})" if gap.any() else ""))
        print(f"| {title} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

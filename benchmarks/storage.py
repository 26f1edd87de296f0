"""What 50 teachers of 100 epochs and their paths take on disk, and what that costs in AUPRC; prints a Markdown table.

    uv run benchmarks/storage.py OUT [--seeds 0 1 2] [--set key=value ...]

Runs on the embedded cohort. OUT keeps the run folders, so that a second call continues and then only prints.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from attar import Cohort
from attar.progress import Lines
from attar.recipe import load, parse_overrides
from attar.run import condense_cohort

WAYS = {
    "checkpoints": ("mtt", "whole"),
    "Bezier, whole": ("btm", "whole"),
    "Bezier, seeded start (default)": ("btm", "seeded"),
    "Bezier, float16": ("btm", "float16"),
    "line, seeded start": ("line", "seeded"),
    "convexified, seeded start": ("mct", "seeded"),
}


def main() -> None:
    """Run every way of storing with every seed, then print one row each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--set", nargs="+", default=[], dest="settings")
    words = parser.parse_args()
    cohort, lines = (
        Cohort.read("support2"),
        ["| stored | bytes | times smaller | AUPRC | per seed |", "|---|---|---|---|---|"],
    )
    for way, (method, store) in WAYS.items():
        scores = []
        for seed in words.seeds:
            own = {
                "method": method,
                "seed": seed,
                "teachers.count": 50,
                "teachers.epochs": 100,
                "teachers.store": store,
            }
            folder = words.out / f"{method}-{store}-{seed}"
            recipe = load("default", own | parse_overrides(words.settings))
            condensed = condense_cohort(cohort, recipe, folder, Lines(), share=words.out / "share")
            scores.append(condensed.scores["arms"]["condensed"]["auprc"]["mean"])
        storage = json.loads((folder / "manifest.json").read_text())["storage"]
        each = ", ".join(f"{score:.4f}" for score in scores)
        stored = sum(storage["bytes"].values())
        lines.append(f"| {way} | {stored:,} | {storage['times_smaller']} | {np.mean(scores):.4f} | {each} |")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

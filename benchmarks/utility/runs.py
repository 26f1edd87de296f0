"""Runs of the utility benchmarks: a cohort, a seed and settings give the arms of a run, made once and kept."""

import json
import sys
import zlib
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from attar import Cohort
from attar.progress import Lines
from attar.recipe import load
from attar.run import condense_cohort
from cohorts import COHORTS

__all__ = ["COHORTS", "folder", "run"]


def folder(cohort: Cohort, out: Path, name: str, seed: int, settings: dict[str, Any]) -> Path:
    """Return where a run is kept."""
    digest = zlib.crc32(json.dumps(settings, sort_keys=True).encode())
    per_class = load(cohort.recipe, settings).per_class
    return out / f"{name}-{per_class}-{seed}-{digest:08x}"


def run(cohort: Cohort, out: Path, name: str, seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the arms of a run, from its folder or newly made; runs on one cohort share teachers and scores of all."""
    recipe, place = load(cohort.recipe, {"seed": seed, **settings}), folder(cohort, out, name, seed, settings)
    arms: dict[str, Any] = condense_cohort(cohort, recipe, place, Lines(), share=out / "share").scores["arms"]
    return arms

import json
import shutil

import pandas as pd
import pytest

from attar.report import advice
from attar.report.source import read
from attar.store import Run

ARMS = {"random": {"auprc": {"mean": 0.3}}, "condensed": {"rows": 20, "auprc": {"mean": 0.5}}}


@pytest.fixture
def run(finished, tmp_path):
    return Run(shutil.copytree(finished, tmp_path / "run"))


def change(run, **changes):
    manifest = run.manifest()
    manifest["cohort"]["split"] = {"train": 6000, "validation": 1000, "test": 2000}
    (run.folder / "manifest.json").write_text(json.dumps(manifest | changes))


def tips(run):
    return " ".join(advice.advice(read(run), ARMS, "fair"))


def history(run, scores):
    table = pd.DataFrame({"iteration": range(len(scores)), "loss": 0.5, "step_size": 0.1, "val_auprc": scores})
    run.write_table("history.parquet", table)


def test_a_good_set_needs_no_advice(run):
    assert advice.advice(read(run), ARMS, "good") == []


def test_a_run_that_was_cut_short_is_given_longer(run):
    change(run)
    history(run, [0.1 * step for step in range(10)])
    assert "--set inputs.iterations=120" in tips(run)
    history(run, [0.5] * 10)
    assert "inputs.iterations" not in tips(run)


def test_steps_that_were_skipped_are_made_smaller(run):
    change(run, guards={"skipped": 30, "rolled_back": 1})
    assert "50% of the steps" in tips(run)
    assert "inputs.step_size" in tips(run)
    change(run, guards={"skipped": 1, "rolled_back": 0})
    assert "inputs.step_size" not in tips(run)


def test_more_patients_are_offered_while_that_is_a_condensation(run):
    change(run)
    assert "--per-class 20" in tips(run)
    assert "little to condense" not in tips(run)
    several = ARMS | {"condensed": {"rows": 2000, "auprc": {"mean": 0.5}}}
    assert "--per-class 12" in " ".join(advice.advice(read(run), several, "fair"))
    near = ARMS | {"random": {"auprc": {"mean": 0.499}}}
    assert "little to condense" in " ".join(advice.advice(read(run), near, "poor"))


def test_few_test_patients_are_named_before_anything_else(run):
    manifest = run.manifest()
    manifest["cohort"]["split"]["test"] = 100
    (run.folder / "manifest.json").write_text(json.dumps(manifest))
    first = advice.advice(read(run), ARMS, "poor")[0]
    assert "test patients" in first
    assert "--seed 1" in first

"""Whole runs on real patients: the files, the same bytes twice, and after kill -9."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pandas as pd
import pytest

from attar import condense, load, recipe
from attar.cohort import Cohort
from attar.errors import RecipeError, RunError
from attar.run import begin, condense_cohort, rare_categories, thin_labels
from attar.seeds import stream
from conftest import QUICK

FILES = {
    "recipe.toml",
    "manifest.json",
    "preparation.json",
    "split.safetensors",
    "teachers.safetensors",
    "paths.safetensors",
    "profile.parquet",
    "history.parquet",
    "condensed.safetensors",
    "condensed.parquet",
    "condensed.csv",
    "scores.json",
}
EXPLAINED = {"report.html", "report.json", "marginals.json", "geometry.json", "geometry"}
"""What the command writes besides, for people."""

SAME = ("condensed.parquet", "condensed.csv", "condensed.safetensors", "history.parquet", "scores.json")
SAME += ("teachers.safetensors", "paths.safetensors", "profile.parquet")


def test_a_run_leaves_its_files_and_nothing_else(finished):
    assert {path.name for path in finished.iterdir()} - {".lock"} == FILES
    manifest = json.loads((finished / "manifest.json").read_text())
    assert manifest["finished"]
    assert manifest["guards"] == {"skipped": 0, "rolled_back": 0}
    stored = (finished / "teachers.safetensors").stat().st_size + (finished / "paths.safetensors").stat().st_size
    assert sum(manifest["storage"]["bytes"].values()) == stored
    assert manifest["storage"]["times_smaller"] == pytest.approx(5 / 2, rel=0.05), "5 epochs' ends against 2 vectors"
    assert set(manifest["seconds"]) == {"teachers", "paths", "condense", "scores"}
    split = manifest["cohort"]["split"]
    assert (split["train"], split["validation"], split["test"]) == pytest.approx((650, 150, 200), abs=5)


def test_scores_have_the_promised_shape(finished):
    scores = json.loads((finished / "scores.json").read_text())
    assert list(scores["arms"]) == ["full", "random", "condensed", "condensed_raw"]
    assert (scores["method"], scores["per_class"], scores["selection"]["metric"]) == ("btm", 10, "val_auprc")
    for name, arm in scores["arms"].items():
        for metric in ("auroc", "auprc"):
            values = arm[metric]["values"]
            assert len(values) == (6 if name == "random" else 3)
            assert arm[metric]["mean"] == pytest.approx(np.mean(values))
            assert arm[metric]["std"] == pytest.approx(np.std(values, ddof=1))


def test_the_table_has_the_cohorts_columns_types_and_ranges(finished, small_frame):
    table = pd.read_parquet(finished / "condensed.parquet")
    assert set(table.columns) == set(small_frame.columns)
    assert table["hospdead"].tolist() == [0] * 10 + [1] * 10
    for column in table:
        assert table[column].dtype == small_frame[column].dtype
        if table[column].dtype == "str":
            assert set(table[column]) <= set(small_frame[column].dropna())
        else:
            assert table[column].between(small_frame[column].min(), small_frame[column].max()).all()
    from_csv = pd.read_csv(finished / "condensed.csv")
    pd.testing.assert_frame_equal(from_csv, table, check_exact=False, rtol=1e-12)


def test_legal_rows_lose_nothing_on_the_way_into_the_table(finished):
    condensed = load(finished)
    again = condensed.preparation.transform(condensed.frame())
    np.testing.assert_allclose(again, condensed.x, atol=1e-4)
    pd.testing.assert_frame_equal(condensed.frame(), pd.read_parquet(finished / "condensed.parquet"))


def test_history_has_a_row_per_iteration(finished):
    history = pd.read_parquet(finished / "history.parquet")
    assert list(history) == ["iteration", "loss", "step_size", "val_auprc"]
    assert history["iteration"].tolist() == list(range(1, 61))
    assert history["val_auprc"].notna().sum() == 6
    scores = json.loads((finished / "scores.json").read_text())
    best = history.loc[history["val_auprc"].idxmax()]
    assert best["iteration"] == scores["selection"]["iteration"]


def test_the_same_seed_gives_the_same_bytes(finished, small_cohort, tmp_path):
    condense_cohort(small_cohort, recipe.load("default", QUICK), tmp_path / "again")
    for name in SAME:
        assert (finished / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name


def test_another_seed_starts_from_other_rows_and_networks(small_cohort):
    sides = [small_cohort.split(seed).test.tolist() for seed in (0, 1)]
    assert sides[0] != sides[1]
    keys = [jax.random.key_data(stream(seed, name)).tolist() for seed in (0, 1) for name in ("teachers", "paths")]
    assert len({tuple(key) for key in keys}) == 4


def test_a_finished_run_is_read_back_not_computed_again(finished, small_cohort):
    before = {path.name: path.stat().st_mtime_ns for path in finished.iterdir()}
    condense_cohort(small_cohort, recipe.load("default", QUICK), finished)
    for name in ("teachers.safetensors", "paths.safetensors", "condensed.parquet", "scores.json"):
        assert (finished / name).stat().st_mtime_ns == before[name]


def test_other_settings_are_refused_in_a_run_folder(finished, small_cohort):
    with pytest.raises(RunError, match=r"teachers\.count was 3, now 4"):
        condense_cohort(small_cohort, recipe.load("default", {**QUICK, "teachers.count": 4}), finished)


def test_a_condensed_set_larger_than_sensible_is_refused(small_cohort, tmp_path):
    with pytest.raises(RecipeError, match="Ask for at most 162 per class"):
        condense_cohort(small_cohort, recipe.load("default", {**QUICK, "per_class": 400}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_several_targets_make_one_set(tmp_path):
    cohort = Cohort.read("nhanes", target=["label_diabetes", "label_arthritis", "label_asthma"])
    condensed = condense_cohort(cohort, recipe.load("default", QUICK), tmp_path / "run")
    assert condensed.frame()[["label_diabetes", "label_arthritis", "label_asthma"]].isin([0.0, 1.0]).all(axis=None)
    arms = condensed.scores["arms"]
    assert arms["condensed"]["rows"] == arms["random"]["rows"] == len(condensed.x)
    for arm in arms.values():
        each = [arm["labels"][target.name]["auprc"]["mean"] for target in condensed.targets]
        assert np.mean(each) == pytest.approx(arm["auprc"]["mean"])


def test_a_target_too_rare_to_score_is_named_and_left_out_of_the_mean():
    frame = Cohort.read("nhanes").frame.assign(
        common=lambda table: (table.index % 3 == 0) * 1, rare=lambda table: (table.index % 150 == 0) * 1
    )
    cohort = Cohort.of(frame, ["common", "rare"])
    split = cohort.split(0)
    notes = thin_labels(cohort, split)
    assert [("'rare'" in note, "only" in note) for note in notes] == [(True, True)] * len(notes)
    assert any("test split" in note for note in notes)


def test_columns_with_rare_categories_are_named():
    frame = Cohort.read("nhanes").frame
    clinic = pd.Series(np.arange(len(frame)) % 40).map("clinic {}".format)
    clinic.iloc[:30] = [f"visitor {row}" for row in range(30)]
    cohort = Cohort.of(frame.assign(clinic=clinic, ill=np.arange(len(frame)) % 3 == 0), "ill")
    (note,) = rare_categories(cohort, begin(cohort, recipe.load("default", QUICK)))
    assert "'clinic' has 70 categories; 30, in" in note
    assert "visitor" not in note


SCRIPT = """
import sys
import attar.stages, attar.condense
attar.stages.SECONDS_BETWEEN_SAVES = 0
attar.condense.CHUNK = 2
from attar.cli import main
main()
"""


def start(frame_path, folder, settings):
    words = [f"--set={key}={value}" for key, value in settings.items()]
    command = [
        sys.executable,
        "-c",
        SCRIPT,
        "condense",
        str(frame_path),
        "--target",
        "hospdead",
        "--out",
        str(folder),
        *words,
    ]
    return subprocess.Popen([*command, "--share", str(folder.parent / "common"), "--quiet"])


def test_killed_at_three_moments_and_resumed_gives_the_same_bytes(small_frame, tmp_path, monkeypatch):
    """With a method that needs every epoch; the killed run shares its teachers, the whole one does not."""
    small_frame.to_parquet(tmp_path / "cohort.parquet")
    settings = {**QUICK, "method": "mct", "teachers.epochs": 40, "inputs.iterations": 300, "evaluate.full_epochs": 60}
    settings |= {"stay.iterations": 100, "stay.steps": 12, "stay.least": 8, "stay.window": 4}
    monkeypatch.setattr(condense, "CHUNK", 2)
    whole = Cohort.read(tmp_path / "cohort.parquet", target="hospdead")
    condense_cohort(whole, recipe.load("default", settings), tmp_path / "whole")
    folder = tmp_path / "killed"
    chance = random.Random(time.time_ns())
    for marker in ("teaching.safetensors", "condensing.safetensors", "condensed.parquet"):
        process = start(tmp_path / "cohort.parquet", folder, settings)
        deadline = time.monotonic() + 240
        while not (folder / marker).exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.2))
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, f"ended before it could be killed at {marker}"
        assert not (folder / "scores.json").exists()
    last = start(tmp_path / "cohort.parquet", folder, settings)
    assert last.wait(240) == 0
    for name in SAME:
        assert (tmp_path / "whole" / name).read_bytes() == (folder / name).read_bytes(), name
    assert {path.name for path in folder.iterdir()} - {".lock"} == FILES | EXPLAINED

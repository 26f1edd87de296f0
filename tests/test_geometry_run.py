"""The geometry of whole runs on real patients: the theorems hold, other methods are compared, the files are there."""

import json
import shutil
from xml.etree import ElementTree

import numpy as np
import pytest

from attar import recipe, teach
from attar.errors import RecipeError, RunError
from attar.geometry import supervise
from attar.geometry.analyse import analyse
from attar.geometry.pictures import PICTURES
from attar.run import condense_cohort
from conftest import QUICK

SHORT = {"teachers.epochs": 6, "segments.epochs": 2, "segments.windows": [[1, 0, 3, 6]], "inputs.iterations": 20}


@pytest.fixture(scope="module")
def run(small_cohort, tmp_path_factory):
    folder = tmp_path_factory.mktemp("geometry") / "run"
    condense_cohort(small_cohort, recipe.load("default", QUICK | SHORT), folder)
    return folder


@pytest.fixture(scope="module")
def compared(small_cohort, run):
    return analyse(small_cohort, run, ["mct", "datm"])


def test_a_run_alone_trains_nothing_and_finds_the_same(small_cohort, run, compared, tmp_path, monkeypatch):
    folder = shutil.copytree(run, tmp_path / "run", ignore=shutil.ignore_patterns("geometry*"))
    monkeypatch.setattr(teach, "teach", None)
    found = analyse(small_cohort, folder)
    assert found["bounds"] == {"btm": compared["bounds"]["btm"]}
    assert set(found["spectrum"]) == {"bezier", "line"}
    assert found["curves"]["predictions"]["against"] == "chord"
    assert not list((folder / "geometry").glob("teachers-*"))
    assert json.loads((folder / "geometry.json").read_text()) == found


def test_no_loss_is_below_its_bound_for_any_method(compared):
    assert list(compared["bounds"]) == ["btm", "mct", "datm"]
    for facts in compared["bounds"].values():
        loss, bound = np.array(facts["loss"]), np.array(facts["bound"])
        assert len(loss) == facts["segments"] >= 12
        assert (bound <= loss + 1e-4).all()
        assert facts["violations"] == 0
        together = facts["together"]
        assert 0 <= together["bound"] <= facts["together"]["mean_loss"] + 1e-4
        assert 0 <= facts["shared_directions"]["least_loss"] <= 1
        assert 0 < facts["dimension"] <= facts["steps"]


def test_real_curves_have_two_directions_each(compared):
    found = compared["curves"]
    assert found["rank"] == {"greatest_of_one": 2, "together": 6, "most": 6}
    assert found["identity_error"] < 1e-4
    assert found["outside_basis"] < 1e-4
    assert found["chord_distance"]["greatest"] == pytest.approx(found["curvature"]["greatest"] / 8)
    assert found["training_curvature"]["mean"] > found["curvature"]["mean"]


def test_predictions_stay_within_theorem_four(compared):
    found = compared["curves"]["predictions"]
    assert found["against"] == "training"
    for part in ("curve", "student"):
        assert all(0 < gap <= bound for gap, bound in zip(found[part]["gap"], found[part]["bound"], strict=True))
    assert found["violations"] == 0


def test_displacements_of_curves_need_fewer_directions_than_trainings(compared):
    ranks = {name: facts["rank_by_entropy"] for name, facts in compared["spectrum"].items()}
    assert set(ranks) == {"checkpoints", "convexified", "bezier", "line", "checkpoints-gsam"}
    assert ranks["checkpoints"] > ranks["convexified"] > ranks["bezier"]
    assert ranks["line"] <= 3 + 1e-6


def test_aligned_teachers_move_the_classes_less_alike(compared):
    plain, aligned = compared["prior"]["none"], compared["prior"]["aligned"]
    assert plain["alike"] > aligned["alike"]
    assert plain["logit_shift"]["positive"] < aligned["logit_shift"]["positive"]
    assert sum(plain["by_tensor"].values()) == pytest.approx(1.0)


def test_the_residual_by_tensor_adds_up_to_the_bound(compared):
    for name, energies in compared["residual_by_tensor"].items():
        assert sum(energies["unreachable"].values()) == pytest.approx(compared["bounds"][name]["mean_bound"])
        assert sum(energies["missed"].values()) == pytest.approx(compared["bounds"][name]["mean_loss"])


def test_every_picture_is_there_with_words(compared, run):
    assert [figure["name"] for figure in compared["figures"]] == [
        "paths",
        "along",
        "matching",
        "spectrum",
        "bounds",
        "residual",
        "storage",
    ]
    assert len(PICTURES) == len(compared["figures"])
    for figure in compared["figures"]:
        assert all(figure[part].strip() for part in ("title", "caption", "alt"))
        root = ElementTree.fromstring((run / "geometry" / f"{figure['name']}.svg").read_bytes())
        assert root.tag.endswith("svg")
        assert (run / "geometry" / f"{figure['name']}.png").read_bytes().startswith(b"\x89PNG")


def test_teachers_are_trained_once_and_must_be_the_runs(small_cohort, run, compared, tmp_path, monkeypatch):
    folder = shutil.copytree(run, tmp_path / "run")
    monkeypatch.setattr(teach, "teach", None)
    assert analyse(small_cohort, folder, ["mct"])["spectrum"]["checkpoints"] == compared["spectrum"]["checkpoints"]
    caches = sorted((folder / "geometry").glob("teachers-*"))
    for cache in caches:
        if (cache / "001.safetensors").exists():
            shutil.copy(cache / "001.safetensors", cache / "000.safetensors")
    with pytest.raises(RunError, match="teacher 0 is another one"):
        analyse(small_cohort, folder, ["mct"])


def test_a_run_of_checkpoints_has_its_trainings(small_cohort, tmp_path, monkeypatch):
    settings = recipe.load("default", QUICK | SHORT | {"method": "mtt", "inputs.iterations": 10})
    condense_cohort(small_cohort, settings, tmp_path / "run")
    monkeypatch.setattr(teach, "teach", None)
    found = analyse(small_cohort, tmp_path / "run")
    assert set(found["spectrum"]) == {"checkpoints", "convexified", "line"}
    assert found["curves"] == {}
    assert found["bounds"]["mtt"]["violations"] == 0


def test_what_picks_real_patients_has_no_geometry(small_cohort, run, tmp_path):
    condense_cohort(small_cohort, recipe.load("default", QUICK | {"method": "random"}), tmp_path / "run")
    with pytest.raises(RunError, match=r"picked real patients \(random\)"):
        analyse(small_cohort, tmp_path / "run")
    with pytest.raises(RecipeError, match="'herding' picks real patients"):
        analyse(small_cohort, run, ["herding"])
    with pytest.raises(RecipeError, match="no method 'mmt'"):
        analyse(small_cohort, run, ["mmt"])


def test_another_method_changes_only_its_own_settings():
    mine = recipe.load("default", {"method": "mtt", "per_class": 20, "teachers.count": 4, "inputs.iterations": 50})
    other = supervise.instead(mine, "btm")
    assert other == recipe.load("default", {"per_class": 20, "teachers.count": 4, "inputs.iterations": 50})

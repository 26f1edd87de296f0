"""The table of methods, and that a row and a class are all that a new one needs."""

import json
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attar import methods, recipe
from attar.errors import RecipeError
from attar.methods import EPOCH_BY_EPOCH, METHODS, Method
from attar.paths import PATHS
from attar.run import condense_cohort
from conftest import QUICK

EPOCHS = {"teachers.epochs": 6, "segments.windows": [[1, 0, 5, 6]], "inputs.iterations": 20}


def test_the_papers_methods_are_there_and_resolve():
    assert set(METHODS) >= {"btm", "mtt", "ftd", "datm", "mct", "line", "convex-line", "full", "random"}
    for name in METHODS:
        assert recipe.load("default", {"method": name}).method == name


def test_a_method_is_what_it_changes_in_the_default_recipe():
    default, mtt, ftd, datm = (
        recipe.load("default", {"method": name}).flat() for name in ("btm", "mtt", "ftd", "datm")
    )
    assert {key: mtt[key] for key in mtt if mtt[key] != default[key]} == {
        "method": "mtt",
        "path.kind": "checkpoints",
        "segments.sampler": "epochs",
        **EPOCH_BY_EPOCH,
    }
    assert (mtt["student.match"], mtt["student.steps"], mtt["selection.keep"]) == ("parameters", 60, "best")
    assert (ftd["teachers.optimiser"], ftd["teachers.decay"], ftd["teachers.radius"]) == ("gsam", "linear", 1.0)
    assert {key for key in ftd if ftd[key] != datm[key]} == {"method", "segments.sampler"}


def test_the_recipe_and_single_settings_lie_over_the_methods_row(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("[student]\nsteps = 40\n[methods.mtt.student]\nsteps = 50\n")
    assert recipe.load(file).student.steps == 40
    assert recipe.load(file, {"method": "ftd"}).student.steps == 40
    assert recipe.load(file, {"method": "mtt"}).student.steps == 50
    assert recipe.load(file, {"method": "mtt", "student.steps": 70}).student.steps == 70


def test_an_unknown_method_is_named_with_the_nearest():
    with pytest.raises(RecipeError, match=r"no method 'conwex-line'.*'convex-line'"):
        recipe.load("default", {"method": "conwex-line"})


@pytest.mark.parametrize("name", ["datm", "random", "herding", "k-centre", "full"])
def test_a_method_runs_to_its_scores(name, small_cohort, tmp_path_factory):
    folder = tmp_path_factory.mktemp("methods")
    settings = recipe.load("default", {**QUICK, **EPOCHS, "method": name})
    condensed = condense_cohort(small_cohort, settings, folder / "run")
    assert condensed.scores["method"] == name
    arms = condensed.scores["arms"]
    assert all(np.isfinite(arm["auprc"]["values"]).all() for arm in arms.values())
    if name == "full":
        assert arms["condensed_raw"]["auprc"] == arms["full"]["auprc"]
    else:
        assert arms["condensed"]["rows"] == 20
    manifest = json.loads((folder / "run" / "manifest.json").read_text())
    assert ("storage" in manifest) == (METHODS[name].choose is None)


# A toy method and a toy path: all that someone writes who has an idea of their own.


@partial(jax.tree_util.register_dataclass, data_fields=["start", "end"], meta_fields=[])
@dataclass(frozen=True)
class Slow:
    start: jax.Array
    end: jax.Array
    every_epoch = False

    def at(self, t):
        return self.start + t**2 * (self.end - self.start)

    @classmethod
    def draw(cls, model, teachers, task, recipe, watch):
        return cls(jnp.asarray(teachers.starts), jnp.asarray(teachers.ends))

    def stored(self):
        return {}

    @classmethod
    def restore(cls, model, stored, starts, ends):
        return cls(jnp.asarray(starts), jnp.asarray(ends))


TOY = Method("slow at first", path="slow", options={"segments.length": 0.5})


def test_a_toy_method_and_a_toy_path_run_from_two_rows(monkeypatch, small_cohort, tmp_path):
    monkeypatch.setitem(PATHS, "slow", Slow)
    monkeypatch.setitem(methods.METHODS, "toy", TOY)
    quick = {key: value for key, value in QUICK.items() if key not in TOY.options}
    settings = recipe.load("default", {**quick, "method": "toy", "inputs.iterations": 20})
    assert settings.segments.length == 0.5
    scores = condense_cohort(small_cohort, settings, tmp_path / "run").scores
    assert scores["method"] == "toy"
    assert np.isfinite(scores["arms"]["condensed"]["auprc"]["mean"])

import tomllib

import numpy as np
import pytest

from attar import recipe
from attar.errors import RecipeError
from attar.methods import METHODS
from attar.segments import SAMPLERS, window
from attar.train import stride


def test_default_recipe_is_whole_and_survives_toml():
    default = recipe.load()
    again = recipe.Recipe.model_validate(tomllib.loads(default.toml()))
    assert again == default
    assert default.teachers.prior == "aligned"


def test_a_recipe_names_only_what_it_changes(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('per_class = 20\n[teachers]\nprior = "none"\n')
    mine = recipe.load(file, {"teachers.count": 3})
    assert (mine.per_class, mine.teachers.prior, mine.teachers.count) == (20, "none", 3)
    assert mine.path == recipe.load().path


def test_overrides_are_read_as_toml_or_text():
    found = recipe.parse_overrides(
        ["teachers.count=20", "inputs.start=gaussian", "prepare.indicators=true", "seed = 3"]
    )
    assert found == {"teachers.count": 20, "inputs.start": "gaussian", "prepare.indicators": True, "seed": 3}


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"teacher.count": 3}, ["'teacher'", "Did you mean"]),
        ({"teachers.cuont": 3}, ["'teachers.cuont'", "'teachers.count'"]),
        ({"per_class": 0}, ["'per_class' is 0", "greater than or equal to 1"]),
        ({"segments.length": 1.5}, ["'segments.length' is 1.5", "less than or equal to 1"]),
        ({"segments.length": 0}, ["'segments.length' is 0", "greater than 0"]),
        ({"student.steps": 0}, ["'student.steps' is 0"]),
        ({"teachers.prior": "some"}, ["'teachers.prior' is 'some'", "aligned"]),
        ({"inputs.step_size": "fast"}, ["'inputs.step_size' is 'fast'", "number"]),
        ({"seed": -1}, ["'seed' is -1"]),
    ],
)
def test_a_wrong_setting_is_named_with_its_legal_values(overrides, words):
    with pytest.raises(RecipeError) as caught:
        recipe.load("default", overrides)
    for word in words:
        assert word in str(caught.value)


def test_a_setting_that_may_be_a_number_or_a_word_is_named_once():
    with pytest.raises(
        RecipeError, match=r"^Setting 'student.batch' is 0: should be .* 1, or should be 'all' or 'auto'\.$"
    ):
        recipe.load("default", {"student.batch": 0})


# teachers' step size, momentum, epochs; model, hidden, dropout; in-loop step size, epochs; final step size, epochs
PAPER = {
    "portsmouth": (0.01, 0.9, 100, "mlp", 64, 0.25, 0.05, 50, 0.05, 100),
    "oxford": (0.02, 0.9, 100, "mlp", 64, 0.25, 0.05, 50, 0.05, 100),
    "birmingham": (0.02, 0.9, 100, "mlp", 64, 0.25, 0.05, 50, 0.05, 100),
    "eicu": (0.02, 0.9, 100, "mlp", 256, 0.25, 0.05, 50, 0.05, 100),
    "mimic3-mortality": (0.02, 0.0, 60, "tcn", 64, 0.75, 0.02, 60, 0.02, 80),
    "mimic3-phenotyping": (0.05, 0.9, 60, "tcn", 64, 0.75, 0.05, 60, 0.05, 80),
}
LABELS = {"mimic3-phenotyping": 25}
TABULAR_WINDOWS = {50: (0, 20, 40), 100: (10, 20, 60), 200: (20, 40, 100), 500: (20, 40, 100)}
MIMIC_WINDOWS = {50: (0, 10, 25), 100: (5, 15, 40), 200: (20, 40, 50), 500: (30, 40, 60)}


@pytest.mark.parametrize("task", PAPER)
def test_the_papers_tasks_have_its_settings(task):
    for method in METHODS:
        found = recipe.load(f"paper/{task}", {"method": method})
        teachers, model, inner, final = found.teachers, found.model, found.selection, found.evaluate
        labels = np.zeros((1, LABELS.get(task, 1)))
        settings = (
            stride(teachers.step_size, labels),
            teachers.momentum,
            teachers.epochs,
            model.name,
            model.hidden,
            model.dropout,
        )
        settings += (stride(inner.step_size, labels), inner.epochs, stride(final.step_size, labels), final.epochs)
        assert settings == PAPER[task]
        assert inner.momentum == final.momentum == 0.9
        assert (final.initialisations, inner.every, found.student.batch) == (10, 10, "auto")
        assert (found.path.degree, found.path.steps, found.path.step_size, found.path.draws) == (2, 300, 0.01, 5)
        assert (found.segments.length, found.segments.epochs, found.path.tolerance) == (0.2, 5, 1e-5)
        assert (teachers.count, teachers.prior, found.inputs.iterations) == (50, "none", 20_000)
        assert (found.inputs.step_size, found.inputs.momentum, found.student.step_size) == (100, 0.9, 0.01)
        assert (found.inputs.rows, found.inputs.labels, found.inputs.average) == ("free", "hard", 0)
        assert (found.student.match, found.student.moments, found.student.gradient) == ("parameters", 1, "first-order")
        assert (found.selection.keep, teachers.pilots) == ("best", 0)
        assert found.student.steps == (60 if method in ("mtt", "ftd", "datm") else 30)
        SAMPLERS[found.segments.sampler].check(found)
    mimic = task.startswith("mimic3")
    for per_class, expected in (MIMIC_WINDOWS if mimic else TABULAR_WINDOWS).items():
        datm = recipe.load(f"paper/{task}", {"method": "datm", "per_class": per_class})
        SAMPLERS["staged"].check(datm)
        assert window(datm) == expected
        assert (datm.teachers.optimiser, datm.teachers.decay) == (("sgd", "none") if mimic else ("gsam", "linear"))


@pytest.mark.parametrize("per_class", [1, 50, 100, 150, 200, 500])
def test_the_default_recipe_fits_every_method_at_every_budget(per_class):
    for method in METHODS:
        found = recipe.load("default", {"method": method, "per_class": per_class})
        SAMPLERS[found.segments.sampler].check(found)


def test_a_whole_recipe_of_one_method_is_not_taken_for_another(tmp_path):
    (tmp_path / "whole.toml").write_text(recipe.load("default", {"method": "datm"}).toml())
    assert recipe.load(tmp_path / "whole.toml").segments.sampler == "staged"
    with pytest.raises(RecipeError, match=r"for the method 'datm'.*but 'btm' was asked for"):
        recipe.load(tmp_path / "whole.toml", {"method": "btm"})


def test_a_recipe_builds_on_one_beside_it(tmp_path):
    (tmp_path / "ground.toml").write_text('base = "paper/eicu"\nper_class = 7\n')
    (tmp_path / "mine.toml").write_text('base = "ground.toml"\n[teachers]\ncount = 3\n')
    mine = recipe.load(tmp_path / "mine.toml")
    assert (mine.per_class, mine.teachers.count, mine.teachers.epochs, mine.model.hidden) == (7, 3, 100, 256)


def test_every_built_in_recipe_is_listed_and_comes_back_from_its_own_toml(tmp_path):
    assert {"default", "paper/portsmouth", "paper/eicu"} <= set(recipe.builtin_names())
    for name in recipe.builtin_names():
        whole = recipe.load(name, {"method": "datm"})
        assert not name.startswith("paper/_")
        (tmp_path / "again.toml").write_text(whole.toml())
        assert recipe.load(tmp_path / "again.toml") == whole


def test_unknown_recipe_and_broken_files(tmp_path):
    with pytest.raises(RecipeError, match=r"no recipe 'defualt'.*Did you mean 'default'"):
        recipe.load("defualt")
    (tmp_path / "broken.toml").write_text("per_class = = 3")
    (tmp_path / "circle.toml").write_text(f'base = "{tmp_path / "circle.toml"}"')
    with pytest.raises(RecipeError, match="built on itself"):
        recipe.load(tmp_path / "circle.toml")
    with pytest.raises(RecipeError, match=r"no method 'dtam'.*'datm'"):
        recipe.load({"methods": {"dtam": {"student": {"steps": 3}}}})
    with pytest.raises(RecipeError, match="not valid TOML"):
        recipe.load(tmp_path / "broken.toml")
    with pytest.raises(RecipeError, match="key=value"):
        recipe.parse_overrides(["seed"])

"""The line from a cohort to its scores: prepare, teach, draw paths, condense, export, evaluate, in one run folder."""

import os
import platform
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import TypeAdapter

from attar import __version__, coreset, export, figures, initial, stages, teach
from attar.cohort import Cohort, Schema, Split
from attar.compiled import make_room
from attar.condensed import Condensed
from attar.errors import DataError, RecipeError, RunError, nearest
from attar.evaluate import across, external
from attar.evaluate.arms import Scores, score_arms
from attar.evaluate.metrics import counted
from attar.methods import method
from attar.models import MODELS, Model
from attar.paths import PATHS
from attar.prepare import AnyPreparation, Arrays, prepare, unknown
from attar.progress import Silent, Watch
from attar.recipe import Recipe
from attar.segments import SAMPLERS
from attar.share import Share
from attar.stages import Journal
from attar.store import Run
from attar.train import Task


def condense_cohort(
    cohort: Cohort,
    recipe: Recipe,
    folder: str | Path,
    watch: Watch | None = None,
    source: Mapping[str, Any] | None = None,
    share: str | Path | None = None,
) -> Condensed:
    """Condense a cohort in a run folder and score the result; goes on with a run that was interrupted.

    `source` says how the cohort was read (path and column roles), so that it can be read again. Runs on one cohort that
    are given the same `share` folder train their teachers and score the whole cohort only once.
    """
    make_room()
    shared = Share(share)
    split, data, model, start = begun = begin(cohort, recipe)
    with Run(folder) as run:
        manifest = run.claim(recipe, describe(cohort, begun, source))
        journal = Journal(run, manifest, watch or Silent(), shared)
        for warning in manifest["warnings"]:
            journal.watch.say(warning)
        run.write("preparation.json", data.preparation.model_dump_json(indent=1).encode())
        run.write_arrays(
            "split.safetensors", {"train": split.train, "validation": split.validation, "test": split.test}
        )
        if method(recipe.method).choose:
            stages.export_chosen(journal, start, data, cohort)
        else:
            task = begun.task(recipe)
            recipe = stages.settle(journal, model, task, data, recipe)
            stages.read_or_teach(journal, model, task, recipe)
            paths = stages.read_or_draw(journal, model, task, recipe)
            stages.read_or_condense(journal, model, paths, start, data, cohort, recipe)
        if not run.has("scores.json"):
            stages.evaluate_run(journal, model, data, cohort, recipe)
        kept = run.read_arrays("condensed.safetensors")
        manifest["guards"] = {guard: int(kept[guard]) for guard in ("skipped", "rolled_back")}
        manifest["finished"] = True
        run.write_json("manifest.json", manifest)
    return load(folder)


def share_teachers(cohort: Cohort, recipe: Recipe, share: str | Path, group: int) -> np.ndarray:
    """Return one group of a run's teachers at every epoch, shared or newly trained and shared from now on."""
    begun = begin(cohort, recipe)
    with _scratch(cohort, recipe, begun, share) as journal:
        task = begun.task(recipe)
        settled = stages.settle(journal, begun.model, task, begun.data, recipe)
        return stages.taught_group(journal, begun.model, task, settled, group)


def share_scores(cohort: Cohort, recipe: Recipe, share: str | Path, groups: Sequence[np.ndarray]) -> None:
    """Share the teachers, from all their groups, and the scores of all real patients and of random ones."""
    begun = begin(cohort, recipe)
    names = [target.name for target in cohort.schema.targets]
    with _scratch(cohort, recipe, begun, share) as journal:
        if groups:
            task = begun.task(recipe)
            settled = stages.settle(journal, begun.model, task, begun.data, recipe)
            key = stages.teachers_key(journal, task, settled)
            journal.share.arrays("teachers", key, lambda: {"points": np.concatenate(groups)})
        key = journal.key(recipe, "evaluate")
        score_arms(begun.model, begun.data, {}, names, recipe, journal.watch, journal.share, key)


@contextmanager
def _scratch(cohort: Cohort, recipe: Recipe, begun: "Beginning", share: str | Path) -> Iterator[Journal]:
    """Hand out the journal of a run that is only there for what it shares."""
    with tempfile.TemporaryDirectory() as folder, Run(Path(folder) / "run") as run:
        manifest = run.claim(recipe, describe(cohort, begun, None))
        yield Journal(run, manifest, Silent(), Share(share))


class Beginning(NamedTuple):
    """What a run begins with: who is in which split, the prepared arrays, the network, and the first patients."""

    split: Split
    data: Arrays
    model: Model
    start: initial.Initial

    def task(self, recipe: Recipe) -> Task:
        """Return what the run's teachers learn."""
        return teach.task(self.data.x_train, self.data.y_train, recipe.teachers.prior, self.start.y.mean(axis=0))


def begin(cohort: Cohort, recipe: Recipe) -> Beginning:
    """Prepare the cohort and draw the patients that a run starts from, or the real ones that its method picks."""
    check(recipe)
    split = cohort.split(recipe.seed)
    data = prepare(cohort, split, recipe.prepare.clip, recipe.prepare.indicators)
    model = build_model(recipe, data)
    rng = np.random.default_rng([recipe.seed, zlib.crc32(b"start")])
    choose = method(recipe.method).choose
    if choose:
        start = coreset.choose(coreset.CORESETS[choose], data.x_train, data.y_train, recipe.per_class, rng)
    else:
        refuse_large(recipe, data)
        start = initial.draw(data.x_train, data.y_train, recipe.per_class, recipe.inputs.start, rng)
    return Beginning(split, data, model, start)


def check(recipe: Recipe) -> None:
    """Raise RecipeError for settings that name nothing or do not fit each other, before anything is trained."""
    tables: dict[str, tuple[str, Mapping[str, Any]]] = {
        "model.name": (recipe.model.name, MODELS),
        "teachers.optimiser": (recipe.teachers.optimiser, teach.OPTIMISERS),
        "path.kind": (recipe.path.kind, PATHS),
        "segments.sampler": (recipe.segments.sampler, SAMPLERS),
    }
    for setting, (name, rows) in tables.items():
        if name not in rows:
            raise RecipeError(f"Setting {setting!r} is {name!r}, which there is not.{nearest(name, rows)}")
    SAMPLERS[recipe.segments.sampler].check(recipe)
    stay = recipe.stay
    if not stay.window <= stay.least <= stay.steps:
        raise RecipeError(
            f"Settings 'stay.window', 'stay.least' and 'stay.steps' are {stay.window}, {stay.least} and {stay.steps}: "
            "each must be at most the next."
        )


def build_model(recipe: Recipe, data: Arrays, name: str | None = None) -> Model:
    """Return the network that fits the data's inputs and targets: the recipe's, or another row of `MODELS`."""
    asked, layout = name or recipe.model.name, data.preparation.layout
    row = MODELS[asked]
    if row.series and not layout.hours:
        raise RecipeError(f"The model {asked!r} is for hourly series, but this cohort is a table. Take 'mlp'.")
    hidden = recipe.model.hidden if row.hidden is None else row.hidden
    dropout = recipe.model.dropout if row.dropout is None else row.dropout
    model: Model = row.make(layout, data.y_train.shape[1], hidden, dropout)
    return model


def refuse_large(recipe: Recipe, data: Arrays) -> None:
    """Raise RecipeError if the condensed set would not be much smaller than the data."""
    rows, most = len(data.x_train), len(data.x_train) // 2
    asked = initial.budget(data.y_train, recipe.per_class)
    if asked > most:
        raise RecipeError(
            f"--per-class {recipe.per_class} asks for {asked} condensed patients, but the training split has only "
            f"{rows} rows: more than half of it is no condensation. Ask for at most "
            f"{recipe.per_class * most // asked} per class."
        )


def thin_labels(cohort: Cohort, split: Split) -> list[str]:
    """Name the labels that are too rare in a part of the split to count in the mean over labels."""
    notes = []
    for part, rows in (("validation", split.validation), ("test", split.test)):
        here = np.asarray(counted(cohort.labels[rows]))
        for target, counts, labels in zip(cohort.schema.targets, here, cohort.labels[rows].T, strict=True):
            if not counts:
                fewer = int(min(labels.sum(), len(labels) - labels.sum()))
                notes.append(
                    f"Target {target.name!r} has only {fewer} patients of its rarer class in the {part} split: it is "
                    "scored, but left out of the mean over targets."
                )
    return notes


def rare_categories(cohort: Cohort, begun: "Beginning") -> list[str]:
    """Name the columns of which some categories are too rare for an input of their own."""
    features, train = {feature.column: feature for feature in begun.data.preparation.features}, begun.split.train
    notes = []
    for column in cohort.schema.columns:
        feature = features[column.name]
        rare = len(column.values) - len(feature.values)
        rows = int(unknown(cohort.frame[column.name].iloc[train], feature).sum()) if rare else 0
        if rows:
            notes.append(
                f"Column {column.name!r} has {len(column.values)} categories; {rare}, in {rows} of {len(train)} "
                "training rows, are too rare to learn from. They count as missing, and no condensed patient has them. "
                "If they matter, group them."
            )
    return notes


def describe(cohort: Cohort, begun: "Beginning", source: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the manifest of a new run."""
    split = begun.split
    return {
        "attar": __version__,
        "versions": {name: version(name) for name in ("jax", "jaxlib", "numpy", "pandas", "pyarrow", "scikit-learn")}
        | {"python": platform.python_version()},
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
        "cohort": {
            "name": cohort.name,
            "fingerprint": cohort.fingerprint,
            "rows": cohort.rows,
            "split": {"train": len(split.train), "validation": len(split.validation), "test": len(split.test)},
            "prevalence": {t.name: float(p) for t, p in zip(cohort.schema.targets, cohort.prevalence, strict=True)},
            "schema": cohort.schema.model_dump(mode="json"),
            "source": dict(source) if source else None,
        },
        "warnings": [
            *cohort.warnings,
            *begun.start.notes,
            *thin_labels(cohort, split),
            *rare_categories(cohort, begun),
        ],
        "seconds": {},
        "guards": {},
        "finished": False,
    }


def evaluate_again(cohort: Cohort, folder: str | Path, watch: Watch | None = None) -> Scores:
    """Score a finished run again, from its exported table and the cohort it was made from."""
    with Run(folder) as run:
        recipe, data = run.settled(), reprepare(cohort, run)
        journal = Journal(run, run.manifest(), watch or Silent(), Share(None))
        return stages.evaluate_run(journal, build_model(recipe, data), data, cohort, recipe)


def evaluate_across(
    cohort: Cohort, folder: str | Path, models: Sequence[str], watch: Watch | None = None
) -> dict[str, Any]:
    """Train other models on a run's exported table, on all real patients and on random ones; writes models.json."""
    across.check(models)
    with Run(folder) as run:
        recipe, data = run.settled(), reprepare(cohort, run)
        targets = cohort.schema.targets
        condensed = export.read(run, data.preparation, targets)
        names = [target.name for target in targets]
        scores = across.score_models(
            models, partial(build_model, recipe, data), data, {"condensed": condensed}, names, recipe, watch or Silent()
        )
        result = {"models": scores, "method": recipe.method, "per_class": recipe.per_class}
        run.write_json("models.json", result)
        run.write("models.png", figures.models(result))
    return result


def evaluate_external(
    cohort: Cohort, folder: str | Path, other: str | Path, watch: Watch | None = None
) -> dict[str, Any]:
    """Test the run's arms on another cohort, seen through the run's own preparation; writes external-NAME.json."""
    with Run(folder) as run:
        recipe, data = run.settled(), reprepare(cohort, run)
        targets = cohort.schema.targets
        found = external.read(other, cohort.schema, data.preparation)
        elsewhere = replace(data, x_test=found.x, y_test=found.y)
        sets = {"condensed": export.read(run, data.preparation, targets)}
        names = [target.name for target in targets]
        model = build_model(recipe, data)
        arms = score_arms(model, elsewhere, sets, names, recipe, watch or Silent(), Share(None), {})
        path = str(Path(other).resolve())
        name = external.free_name(run, found.name, path)
        result = {
            "external": name,
            "source": path,
            "rows": len(found.x),
            "differences": found.differences,
            "arms": arms,
            "method": recipe.method,
            "per_class": recipe.per_class,
        }
        run.write_json(external.file(name), result)
    return result


def begin_again(cohort: Cohort, run: Run) -> Beginning:
    """Return what a run began with; refuse another cohort."""
    refuse_other(cohort, run)
    return begin(cohort, run.settled())


def reprepare(cohort: Cohort, run: Run) -> Arrays:
    """Prepare the cohort of a run as the run did; refuse another cohort."""
    refuse_other(cohort, run)
    recipe = run.settled()
    return prepare(cohort, cohort.split(recipe.seed), recipe.prepare.clip, recipe.prepare.indicators)


def refuse_other(cohort: Cohort, run: Run) -> None:
    """Raise DataError if a run was made from another cohort."""
    if cohort.fingerprint != run.manifest()["cohort"]["fingerprint"]:
        raise DataError(
            f"This is not the cohort of the run in {run.folder}: rows, values or columns differ. Give it with --cohort."
        )


def source(folder: str | Path) -> dict[str, Any]:
    """Return how the cohort of a run was read: its path and the roles of its columns."""
    found: dict[str, Any] | None = Run(folder).manifest()["cohort"]["source"]
    if found is None:
        raise RunError(
            f"The run in {folder} was made from Python and does not know its cohort's file. Evaluate it there."
        )
    return found


def load(folder: str | Path) -> Condensed:
    """Read a finished run."""
    run = Run(folder)
    scores, kept = run.read_json("scores.json"), run.read_arrays("condensed.safetensors")
    preparation: AnyPreparation = TypeAdapter(AnyPreparation).validate_python(run.read_json("preparation.json"))
    targets = Schema.model_validate(run.manifest()["cohort"]["schema"]).targets
    return Condensed(kept["x"], kept["y"], kept["source"], float(kept["step_size"]), preparation, targets, scores)

"""The line from a cohort to its scores: prepare, teach, draw paths, condense, export, evaluate, in one run folder.

A stage already in the folder is read back; one interrupted half-way goes on from its last state, to the same bytes.
"""

import os
import platform
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from attar import __version__, condense, history, initial, teach
from attar.cohort import Cohort, Schema, Split
from attar.condensed import Condensed, arrays, table
from attar.errors import DataError, RecipeError, RunError, nearest
from attar.evaluate.arms import Scores, score_arms
from attar.evaluate.utility import Scorer
from attar.legal import legal
from attar.methods import Method, method
from attar.models import MODELS, Model
from attar.paths import Drawn
from attar.prepare import Arrays, Preparation, prepare
from attar.progress import Silent, Watch
from attar.recipe import Recipe
from attar.seeds import stream
from attar.store import Run
from attar.train import Fit, Task, fresh

SECONDS_BETWEEN_SAVES = 5.0


@dataclass
class Journal:
    """A run folder in hand: where things are written, what the run says about itself, and who watches."""

    run: Run
    manifest: dict[str, Any]
    watch: Watch

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count a stage's seconds, over interruptions, in the manifest."""
        began = time.monotonic()
        try:
            yield
        finally:
            seconds = self.manifest["seconds"]
            seconds[name] = round(seconds.get(name, 0.0) + time.monotonic() - began, 1)
            self.run.write_json("manifest.json", self.manifest)


def condense_cohort(
    cohort: Cohort,
    recipe: Recipe,
    folder: str | Path,
    watch: Watch | None = None,
    source: Mapping[str, Any] | None = None,
) -> Condensed:
    """Condense a cohort in a run folder and score the result; goes on with a run that was interrupted.

    `source` says how the cohort was read (path and column roles), so that it can be read again.
    """
    how = method(recipe.method)
    split = cohort.split(recipe.seed)
    data = prepare(cohort, split, recipe.prepare.clip, recipe.prepare.indicators)
    model = build_model(recipe, data)
    refuse_large(recipe, data)
    rng = np.random.default_rng([recipe.seed, zlib.crc32(b"start")])
    start = initial.draw(data.x_train, data.y_train, recipe.per_class, recipe.inputs.start, rng)
    task = teach.task(data.x_train, data.y_train, recipe.teachers.prior, start.y.mean(axis=0))
    with Run(folder) as run:
        manifest = run.claim(recipe, describe(cohort, split, start, source))
        journal = Journal(run, manifest, watch or Silent())
        for warning in manifest["warnings"]:
            journal.watch.say(warning)
        run.write("preparation.json", data.preparation.model_dump_json(indent=1).encode())
        run.write_arrays(
            "split.safetensors", {"train": split.train, "validation": split.validation, "test": split.test}
        )
        teachers = read_or_teach(journal, model, task, recipe, how)
        drawn = read_or_draw(journal, model, teachers, task, recipe, how)
        read_or_condense(journal, model, drawn, start, data, cohort, recipe)
        if not run.has("scores.json"):
            evaluate_run(journal, model, data, cohort, recipe)
        kept = run.read_arrays("condensed.safetensors")
        manifest["guards"] = {guard: int(kept[guard]) for guard in ("skipped", "rolled_back")}
        manifest["finished"] = True
        run.write_json("manifest.json", manifest)
    return load(folder)


def build_model(recipe: Recipe, data: Arrays) -> Model:
    """Return the network that fits the data's inputs and targets."""
    chosen = recipe.model
    if chosen.name not in MODELS:
        raise RecipeError(f"There is no model {chosen.name!r}.{nearest(chosen.name, MODELS)}")
    model: Model = MODELS[chosen.name](
        features=data.x_train.shape[1], outputs=data.y_train.shape[1], hidden=chosen.hidden, dropout=chosen.dropout
    )
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


def describe(cohort: Cohort, split: Split, start: initial.Initial, source: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the manifest of a new run."""
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
        "warnings": [*cohort.warnings, *start.notes],
        "seconds": {},
        "guards": {},
        "finished": False,
    }


def read_or_teach(journal: Journal, model: Model, task: Task, recipe: Recipe, how: Method) -> teach.Teachers:
    """Train the teachers, or read them back."""
    run, watch = journal.run, journal.watch
    if run.has("teachers.safetensors"):
        run.remove("teaching.safetensors")
        return teach.Teachers(run.read_arrays("teachers.safetensors")["points"])
    resume = None
    if run.has("teaching.safetensors"):
        saved = run.read_arrays("teaching.safetensors")
        resume = teach.Progress(
            int(saved["epochs"]), Fit(jnp.asarray(saved["theta"]), jnp.asarray(saved["velocity"])), saved["points"]
        )
    due = Due()

    def seen(progress: teach.Progress) -> None:
        watch.update(progress.epochs)
        if due():
            state = {"epochs": np.int64(progress.epochs), "points": progress.points, **progress.fit._asdict()}
            run.write_arrays("teaching.safetensors", state)

    with journal.stage("teachers"):
        total = recipe.teachers.epochs * len(teach.groups(model, recipe.teachers))
        watch.stage(f"teachers ({recipe.teachers.count})", total, resume.epochs if resume else 0)
        teachers = teach.teach(model, task, recipe.teachers, recipe.seed, how.every_epoch, resume, seen)
        run.write_arrays("teachers.safetensors", {"points": teachers.points})
        run.remove("teaching.safetensors")
    return teachers


def read_or_draw(
    journal: Journal, model: Model, teachers: teach.Teachers, task: Task, recipe: Recipe, how: Method
) -> Drawn:
    """Draw the teachers' paths, or read them back."""
    run, watch = journal.run, journal.watch
    if not run.has("paths.safetensors"):
        with journal.stage("paths"):
            watch.stage("paths", recipe.path.steps)
            drawn = how.draw(model, teachers, task, recipe, watch.update)
            run.write_arrays("paths.safetensors", drawn.arrays())
    return how.read(run.read_arrays("paths.safetensors"))


def read_or_condense(
    journal: Journal, model: Model, drawn: Drawn, start: initial.Initial, data: Arrays, cohort: Cohort, recipe: Recipe
) -> None:
    """Condense and export, unless that was done; saves the loop's state every few seconds."""
    run, watch = journal.run, journal.watch
    if run.has("condensed.parquet"):
        run.remove("condensing.safetensors")
        return
    state, chunks = None, []
    if run.has("condensing.safetensors"):
        saved = run.read_arrays("condensing.safetensors")
        state = condense.State(*(jnp.asarray(saved[field]) for field in condense.State._fields))
        chunks.append(history.from_arrays(saved))
    due = Due()

    def seen(state: condense.State, chunk: condense.Chunk) -> None:
        chunks.append(chunk)
        watch.update(
            int(state.iteration), f"loss {float(chunk.loss.mean()):.2f}, validation AUPRC {float(state.best_score):.3f}"
        )
        if due():
            run.write_arrays("condensing.safetensors", {**state._asdict(), **history.to_arrays(chunks)})

    with journal.stage("condense"):
        watch.stage("condense", recipe.inputs.iterations, int(state.iteration) if state else 0)
        state = state or condense.begin(model, drawn.paths, start.x, start.y, recipe)
        key = stream(recipe.seed, "selection")
        scorer = Scorer(
            fresh(model, key, recipe.selection.initialisations),
            key,
            jnp.asarray(data.x_validation),
            jnp.asarray(data.y_validation),
        )
        state = condense.condense(model, drawn.paths, start.y, legal(data.preparation), scorer, recipe, state, seen)
        if state.skipped:
            watch.say(guard_note(state, recipe))
        run.write_table("history.parquet", history.table(chunks, recipe.selection.every))
        kept = {"x": state.best_x, "y": start.y, "source": start.source, "step_size": jnp.exp(state.log_step)}
        kept |= {"iteration": state.best_iteration, "score": state.best_score}
        kept |= {"skipped": state.skipped, "rolled_back": state.rollbacks}
        run.write_arrays("condensed.safetensors", kept)
        exported = table(data.preparation, cohort.schema.targets, np.asarray(state.best_x), start.y)
        run.write_table("condensed.csv", exported)
        run.write_table("condensed.parquet", exported)
        run.remove("condensing.safetensors")


def evaluate_run(journal: Journal, model: Model, data: Arrays, cohort: Cohort, recipe: Recipe) -> Scores:
    """Score every arm on the test split and write scores.json."""
    run, kept = journal.run, journal.run.read_arrays("condensed.safetensors")
    sets = {
        "condensed": arrays(data.preparation, cohort.schema.targets, run.read_table("condensed.parquet")),
        "condensed_raw": (kept["x"], kept["y"]),
    }
    with journal.stage("scores"):
        scores = {
            "arms": score_arms(model, data, sets, recipe, journal.watch),
            "method": recipe.method,
            "per_class": recipe.per_class,
            "selection": {"metric": "val_auprc", "iteration": int(kept["iteration"]), "value": float(kept["score"])},
        }
        run.write_json("scores.json", scores)
    return scores


def evaluate_again(cohort: Cohort, folder: str | Path, watch: Watch | None = None) -> Scores:
    """Score a finished run again, from its exported table and the cohort it was made from."""
    with Run(folder) as run:
        recipe, manifest = run.recipe(), run.manifest()
        if cohort.fingerprint != manifest["cohort"]["fingerprint"]:
            raise DataError(
                f"This is not the cohort of the run in {folder}: rows, values or columns differ. Give it with --cohort."
            )
        data = prepare(cohort, cohort.split(recipe.seed), recipe.prepare.clip, recipe.prepare.indicators)
        return evaluate_run(Journal(run, manifest, watch or Silent()), build_model(recipe, data), data, cohort, recipe)


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
    preparation = Preparation.model_validate(run.read_json("preparation.json"))
    targets = Schema.model_validate(run.manifest()["cohort"]["schema"]).targets
    return Condensed(kept["x"], kept["y"], kept["source"], float(kept["step_size"]), preparation, targets, scores)


class Due:
    """Says now and then that it is time to save."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def __call__(self) -> bool:
        """Tell whether the last time is long enough ago."""
        if time.monotonic() - self.last < SECONDS_BETWEEN_SAVES:
            return False
        self.last = time.monotonic()
        return True


def guard_note(state: condense.State, recipe: Recipe) -> str:
    """Say what the guards did and what to change."""
    return (
        f"{int(state.skipped)} of {recipe.inputs.iterations} steps were skipped because the matching loss was above "
        f"{recipe.inputs.loss_limit:g} or not finite, and the inputs were rolled back {int(state.rollbacks)} times. "
        "If that is many, lower inputs.step_size or student.step_size."
    )

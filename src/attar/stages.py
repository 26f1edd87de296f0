"""The stages of a run, each read back if it is in the run folder; interrupted, each goes on from its last state."""

import hashlib
import pathlib
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from attar import condense, export, history, pilot, teach
from attar.cohort import Cohort
from attar.evaluate.arms import Scores, score_arms
from attar.evaluate.utility import Scorer
from attar.initial import Initial
from attar.keeping import GROUPS
from attar.legal import legal
from attar.models import Model
from attar.paths import PATHS, PROFILE_TIMES, Line, Path, profile
from attar.patients import balanced
from attar.prepare import Arrays
from attar.progress import Watch
from attar.recipe import Recipe, load
from attar.seeds import stream
from attar.share import Share
from attar.state import Chunk, State
from attar.storage import Vault
from attar.store import Run
from attar.train import Fit, Task, fresh

SECONDS_BETWEEN_SAVES = 5.0


@dataclass
class Journal:
    """A run folder in hand: where things are written, what the run says about itself, who watches, what is shared."""

    run: Run
    manifest: dict[str, Any]
    watch: Watch
    share: Share

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

    def key(self, recipe: Recipe, *sections: str) -> dict[str, Any]:
        """Return what a shared result depends on: the code, the data, the seed and these sections of the recipe."""
        settings = recipe.model_dump(include={"seed", "prepare", "model", *sections})
        return {**maker(), "cohort": self.manifest["cohort"]["fingerprint"], **settings}


@cache
def maker() -> dict[str, str]:
    """Return what made a result: versions, kind of machine, and a digest of attar's own source."""
    package = pathlib.Path(__file__).parent
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        digest.update(file.read_bytes())
    versions = {"jax": jax.__version__, "jaxlib": version("jaxlib"), "numpy": np.__version__}
    return {"attar": digest.hexdigest(), "machine": platform.machine(), **versions}


class Saver:
    """Saves a state now and then, and less often if that takes long."""

    def __init__(self, run: Run, name: str) -> None:
        self.run, self.name = run, name
        self.last, self.pause = time.monotonic(), SECONDS_BETWEEN_SAVES

    def offer(self, state: Callable[[], dict[str, Any]]) -> None:
        """Save the state if the last time is long enough ago: ten times as long as saving took."""
        began = time.monotonic()
        if began - self.last < self.pause:
            return
        self.run.write_arrays(self.name, state())
        self.last = time.monotonic()
        self.pause = max(SECONDS_BETWEEN_SAVES, 10 * (self.last - began))


def settle(journal: Journal, model: Model, task: Task, data: Arrays, recipe: Recipe) -> Recipe:
    """Return the recipe with the number of epochs that pilots found, which runs on one cohort have in common."""
    settings = recipe.teachers
    if settings.pilots and "settled" not in journal.manifest:

        def find() -> dict[str, int]:
            journal.watch.stage(f"pilots ({settings.pilots})", settings.longest)
            epochs = pilot.find_epochs(model, task, data, settings, recipe.seed, journal.watch.update)
            return {"teachers.epochs": epochs}

        key = journal.key(recipe)
        training = settings.model_dump(
            include={"pilots", "epochs", "longest", "step_size", "momentum", "batch", "prior"}
        )
        with journal.stage("pilots"):
            journal.manifest["settled"] = journal.share.json(
                "pilots", {**key, **training, "offset": task.offset.tolist()}, find
            )
    return load(recipe.model_dump(), journal.manifest.get("settled", {}))


def read_or_teach(journal: Journal, model: Model, task: Task, recipe: Recipe) -> None:
    """Train the teachers, or take those that another run on this cohort shares.

    Trains them again if only their ends are left, but the paths drawn from all their epochs were lost.
    """
    run, every_epoch = journal.run, PATHS[recipe.path.kind].every_epoch
    vault = Vault(model, recipe)
    if run.has("teachers.safetensors") and every_epoch and not run.has("paths.safetensors"):
        points = vault.unpack_teachers(run.read_arrays("teachers.safetensors"))
        if points.shape[1] <= recipe.teachers.epochs:
            run.remove("teachers.safetensors")
    if not run.has("teachers.safetensors"):
        with journal.stage("teachers"):
            points = taught(journal, model, task, recipe, every_epoch)
            if not every_epoch:
                points = points[:, [0, -1]]
            run.write_arrays("teachers.safetensors", vault.pack_teachers(points))
    run.remove("teaching.safetensors")


def taught(journal: Journal, model: Model, task: Task, recipe: Recipe, every_epoch: bool) -> np.ndarray:
    """Return the points of the teachers, those that are shared or newly trained; shared ones are of every epoch."""
    keep_all = every_epoch or bool(journal.share)
    return journal.share.arrays(
        "teachers",
        teachers_key(journal, task, recipe),
        lambda: {"points": train_teachers(journal, model, task, recipe, keep_all)},
    )["points"]


def taught_group(journal: Journal, model: Model, task: Task, recipe: Recipe, group: int) -> np.ndarray:
    """Return the points of one group of the teachers, those that are shared or newly trained."""
    return journal.share.arrays(
        "group",
        {**teachers_key(journal, task, recipe), "group": group},
        lambda: {"points": teach.teach_group(model, task, recipe.teachers, recipe.seed, group)},
    )["points"]


def teachers_key(journal: Journal, task: Task, recipe: Recipe) -> dict[str, Any]:
    """Return what teachers depend on."""
    key = journal.key(recipe, "teachers")
    key["teachers"].pop("store")
    return key | {"offset": task.offset.tolist()}


def train_teachers(journal: Journal, model: Model, task: Task, recipe: Recipe, every_epoch: bool) -> np.ndarray:
    """Train the teachers, from where an interrupted run left them; return their points."""
    run, watch, settings = journal.run, journal.watch, recipe.teachers
    resume = None
    if run.has("teaching.safetensors"):
        saved = run.read_arrays("teaching.safetensors")
        if saved["points"].shape[1] == (settings.epochs + 1 if every_epoch else 2):
            fit = Fit(jnp.asarray(saved["theta"]), jnp.asarray(saved["velocity"]))
            resume = teach.Progress(int(saved["epochs"]), fit, saved["points"])
    saver = Saver(run, "teaching.safetensors")

    def seen(progress: teach.Progress) -> None:
        watch.update(progress.epochs)
        reached = {"epochs": np.int64(progress.epochs), "points": progress.points}
        saver.offer(lambda: {**reached, **progress.fit._asdict()})

    total = settings.epochs * len(teach.groups(model, settings))
    watch.stage(f"teachers ({settings.count})", total, resume.epochs if resume else 0)
    return teach.teach(model, task, settings, recipe.seed, every_epoch, resume, seen).points


def read_or_draw(journal: Journal, model: Model, task: Task, recipe: Recipe) -> Path:
    """Draw the teachers' paths, or read them back; then only the teachers' ends stay stored beside them.

    Paths that are fitted between both ends are shared; those through every epoch would repeat the shared teachers.
    """
    run, watch, vault, kind = journal.run, journal.watch, Vault(model, recipe), PATHS[recipe.path.kind]
    points = vault.unpack_teachers(run.read_arrays("teachers.safetensors"))
    if not run.has("paths.safetensors"):
        with journal.stage("paths"):
            watch.stage("paths", recipe.path.steps)
            teachers = teach.Teachers(points)

            def draw() -> dict[str, np.ndarray]:
                drawn = kind.draw(model, teachers, task, recipe, watch.update)
                return {name: np.asarray(array) for name, array in drawn.stored().items()}

            key = {**teachers_key(journal, task, recipe), **recipe.model_dump(include={"path"})}
            stored = draw() if kind.every_epoch else journal.share.arrays("paths", key, draw)
            watch.update(recipe.path.steps)
            drawn = kind.restore(model, stored, teachers.starts, teachers.ends)
            line = Line.draw(model, teachers, task, recipe, watch.update)
            losses = profile(model, line, task), profile(model, drawn, task)
            run.write_table("profile.parquet", profile_table(*losses))
            run.write_arrays("paths.safetensors", vault.pack(stored))
    if points.shape[1] > 2:
        run.write_arrays("teachers.safetensors", vault.pack_teachers(points[:, [0, -1]]))
    journal.manifest["storage"] = storage(run, model, recipe)
    starts, ends = np.moveaxis(vault.unpack_teachers(run.read_arrays("teachers.safetensors")), 1, 0)
    return kind.restore(model, vault.unpack(run.read_arrays("paths.safetensors")), starts, ends)


def profile_table(line: np.ndarray, path: np.ndarray) -> pd.DataFrame:
    """Return the training loss along the straight line and along the path, a row per teacher and t."""
    teachers, times = line.shape
    return pd.DataFrame(
        {
            "teacher": np.repeat(np.arange(teachers), times),
            "t": np.tile(PROFILE_TIMES, teachers),
            "line_loss": line.ravel(),
            "path_loss": path.ravel(),
        }
    )


def storage(run: Run, model: Model, recipe: Recipe) -> dict[str, Any]:
    """Return the bytes of teachers and paths as stored, against those of a checkpoint of every epoch."""
    files = {name: run.size(f"{name}.safetensors") for name in ("teachers", "paths")}
    stored = sum(files.values())
    checkpoints = 4 * model.size * recipe.teachers.count * (recipe.teachers.epochs + 1)
    return {"bytes": files, "checkpoint_bytes": checkpoints, "times_smaller": round(checkpoints / stored, 1)}


def read_or_condense(
    journal: Journal, model: Model, paths: Path, start: Initial, data: Arrays, cohort: Cohort, recipe: Recipe
) -> None:
    """Condense and export, unless that was done; saves the loop's state every few seconds."""
    run, watch = journal.run, journal.watch
    if run.has("condensed.parquet"):
        run.remove("condensing.safetensors")
        return
    state, chunks = None, []
    if run.has("condensing.safetensors"):
        saved = run.read_arrays("condensing.safetensors")
        state = State(*(jnp.asarray(saved[field]) for field in State._fields))
        chunks.append(history.from_arrays(saved))
    saver = Saver(run, "condensing.safetensors")

    def seen(state: State, chunk: Chunk) -> None:
        chunks.append(chunk)
        watch.update(
            int(state.iteration),
            f"loss {float(chunk.loss.mean()):.2f}, validation AUPRC {float(chunk.score[-1]):.3f}",
        )
        saver.offer(lambda: {**state._asdict(), **history.to_arrays(chunks)})

    with journal.stage("condense"):
        watch.stage("condense", recipe.iterations, int(state.iteration) if state else 0)
        patients = balanced(data.x_train, data.y_train)
        state = state or condense.begin(model, paths, patients, start.x, start.y, recipe)
        key = stream(recipe.seed, "selection")
        networks = fresh(model, key, recipe.selection.initialisations)
        groups = GROUPS[recipe.selection.keep]
        scorer = Scorer.of(networks, key, data.x_validation, data.y_validation, groups)
        state = condense.condense(model, paths, patients, legal(data.preparation), scorer, recipe, state, seen)
        if state.skipped:
            watch.say(guard_note(state, recipe))
        run.write_table("history.parquet", history.table(chunks))
        kept = {"x": state.kept_x, "y": state.kept_y, "source": start.source, "step_size": jnp.exp(state.log_step)}
        kept |= {"iteration": state.kept_iteration, "score": state.kept_score}
        kept |= {"skipped": state.skipped, "rolled_back": state.rollbacks}
        keep(journal, data, cohort, kept)
        run.remove("condensing.safetensors")


def guard_note(state: State, recipe: Recipe) -> str:
    """Say what the guards did and what to change."""
    return (
        f"{int(state.skipped)} of {recipe.iterations} steps were skipped because the matching loss was above "
        f"{recipe.inputs.loss_limit:g} or not finite, and the inputs were rolled back {int(state.rollbacks)} times. "
        "If that is many, lower inputs.step_size or student.step_size."
    )


def export_chosen(journal: Journal, start: Initial, data: Arrays, cohort: Cohort) -> None:
    """Export real rows that a method picked, unless that was done."""
    if not journal.run.has("condensed.parquet"):
        never = {"step_size": np.float32("nan"), "iteration": np.int32(0), "score": np.float32("nan")}
        guards = {"skipped": np.int32(0), "rolled_back": np.int32(0)}
        kept = {"x": start.x, "y": start.y, "source": start.source}
        keep(journal, data, cohort, kept | never | guards)


def keep(journal: Journal, data: Arrays, cohort: Cohort, kept: dict[str, Any]) -> None:
    """Write the condensed patients as arrays and as a table in the cohort's own columns."""
    run = journal.run
    run.write_arrays("condensed.safetensors", kept)
    export.write(run, data.preparation, cohort.schema.targets, np.asarray(kept["x"]), np.asarray(kept["y"]))


def evaluate_run(journal: Journal, model: Model, data: Arrays, cohort: Cohort, recipe: Recipe) -> Scores:
    """Score every arm on the test split and write scores.json."""
    run, kept = journal.run, journal.run.read_arrays("condensed.safetensors")
    sets = {
        "condensed": export.read(run, data.preparation, cohort.schema.targets),
        "condensed_raw": (kept["x"], kept["y"]),
    }
    names = [target.name for target in cohort.schema.targets]
    selection: dict[str, Any] = {"metric": None, "iteration": 0}
    if np.isfinite(kept["score"]):
        selection = {"metric": "val_auprc", "iteration": int(kept["iteration"]), "value": float(kept["score"])}
    with journal.stage("scores"):
        scores = {
            "arms": score_arms(
                model, data, sets, names, recipe, journal.watch, journal.share, journal.key(recipe, "evaluate")
            ),
            "method": recipe.method,
            "per_class": recipe.per_class,
            "selection": selection,
        }
        run.write_json("scores.json", scores)
    return scores

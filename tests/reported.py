"""Run folders for the tests of the report: a finished run with everything that a report can show, names included."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd

from attar import export, recipe, run
from attar.cohort import Channel, Cohort, Series
from attar.figures import blank, svg
from attar.initial import Initial
from attar.prepare import prepare
from attar.report import marginals
from attar.store import Run

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "$\\frac{a}{$ & 'b' {{ 7 * 7 }}"]


def described(finished: Path, cohort: Cohort, folder: Path) -> Path:
    """Copy a finished run and add the summaries of real patients, other models, another cohort and the geometry."""
    shutil.copytree(finished, folder)
    here = Run(folder)
    here.write_json("marginals.json", marginals.describe(cohort, cohort.split(0), run.load(folder).tables()))
    arms = here.read_json("scores.json")["arms"]
    three = {arm: arms[arm] for arm in ("full", "random", "condensed")}
    labelled = {"method": "btm", "per_class": 10}
    here.write_json("models.json", {"models": {"mlp": three, "logistic": three}, **labelled})
    differences = {"columns it lacks, taken as missing": ["ph", "urine"]}
    elsewhere = {"external": "elsewhere", "rows": 500, "differences": differences, "arms": three, **labelled}
    here.write_json("external-elsewhere.json", elsewhere)
    figure = blank(6.4, 3)
    figure.subplots().plot([0, 1], [0, 1])
    (folder / "geometry").mkdir()
    (folder / "geometry/paths.svg").write_bytes(svg(figure, "a line"))
    words = {"title": "Paths of the teachers", "caption": "A caption with 3 numbers.", "alt": "A rising line"}
    here.write_json("geometry.json", {"figures": [{"name": "paths", **words}]})
    return folder


def poisoned(folder: Path, names: dict[str, str]) -> Path:
    """Put hostile names in the place of those of cohort, columns, values, models and figures."""

    def changed(value):
        if isinstance(value, dict):
            return {names.get(key, key): changed(part) for key, part in value.items()}
        if isinstance(value, list):
            return [changed(part) for part in value]
        return names.get(value, value) if isinstance(value, str) else value

    for path in sorted(folder.glob("*.json")):
        if path.name not in ("preparation.json", "report.json"):
            path.write_text(json.dumps(changed(json.loads(path.read_text()))))
    return folder


def series_run(folder: Path, labels: int = 1) -> Run:
    """Make the folder of a run on made-up series without training anything: its patients are prepared real ones."""
    rng = np.random.default_rng(0)
    patients, hours = 120, 6
    channels = (Channel(name="HR", unit="/min"), Channel(name="rhythm", kind="categorical", values=("sinus", "paced")))
    values = np.stack([rng.normal(80, 9, (patients, hours)), rng.integers(0, 2, (patients, hours))], axis=2)
    values = np.where(rng.random(values.shape) < 0.4, np.nan, values).astype(np.float32)
    targets = [f"died{number}" for number in range(labels)]
    frame = pd.DataFrame({name: (np.arange(patients) + number) % 4 == 0 for number, name in enumerate(targets)})
    frame["age"] = rng.normal(60, 9, patients)
    cohort = Cohort.of(frame.astype(float), targets, series=Series(values, channels), name="made up")
    settings, split = recipe.load("series"), cohort.split(0)
    data = prepare(cohort, split)
    x, y, source = data.x_train[:40], data.y_train[:40], np.arange(40)
    begun = run.Beginning(split, data, run.build_model(settings, data), Initial(x, y, source, ()))
    manifest = run.describe(cohort, begun, None)
    here = Run(folder)
    here.claim(settings, manifest | {"seconds": {"scores": 1.0}, "finished": True})
    here.write("preparation.json", data.preparation.model_dump_json().encode())
    here.write_arrays("condensed.safetensors", {"x": x, "y": y, "source": source, "step_size": np.float32(0.01)})
    export.write(here, data.preparation, cohort.schema.targets, x, y)
    metric = {"mean": 0.5, "std": 0.1, "values": [0.4, 0.5, 0.6]}
    by_label = {"labels": {name: {"auroc": metric, "auprc": metric} for name in targets}} if labels > 1 else {}
    arm = {"rows": 40, "auroc": metric, "auprc": metric} | by_label
    arms = {"full": arm, "random": arm, "condensed": arm}
    here.write_json("scores.json", {"arms": arms, "selection": {"metric": None, "iteration": 0}})
    here.write_json("marginals.json", marginals.describe(cohort, split, tables(here)))
    return here


def tables(here: Run) -> dict[str, pd.DataFrame]:
    """Return the exported tables of a run on series."""
    return {name: here.read_table(f"{name}.parquet") for name in ("condensed", "patients")}

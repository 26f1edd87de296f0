"""How to train on the set: the recorded recipe in words, and listings that run as printed in the run folder."""

import math
from typing import Any

import numpy as np
from scipy.special import logit

from attar.models import MODELS
from attar.report.loading import templates
from attar.report.source import Facts, Source, rounded
from attar.report.spoken import listed

WIDTHS = {"mlp": (1,), "mlp-1": (2,), "mlp-2": (4,), "mlp-3": (1, 2), "mlp-4": (1, 2, 4)}
"""Hidden layers of the networks for tables, in multiples of the recipe's width."""

TITLES = {"read": "Read the patients", "sklearn": "Train with scikit-learn", "torch": "Train with PyTorch"}

LISTED = {*WIDTHS, "tcn", "lstm-1", "lstm-2"}
"""Networks that the PyTorch listings build as they are; of others, the plainest of their kind."""


def facts(source: Source) -> Facts:
    """Return the recipe in words, the offset that calibrates, and the listings."""
    given = settings(source)
    return {
        "recipe": recipe(source, given),
        "offset": [
            {"label": name, "offset": value} for name, value in zip(given["targets"], given["offset"], strict=True)
        ],
        "listings": [
            {"key": key, "title": title, "code": listing(f"{key}_{given['family']}.py.j2", given)}
            for key, title in TITLES.items()
        ],
        "plainer": source.recipe.model.name not in LISTED,
    }


def settings(source: Source) -> dict[str, Any]:
    """Return what the listings need to know of the run."""
    schema, evaluate, model = source.schema, source.recipe.evaluate, source.recipe.model
    row, labels = MODELS[model.name], len(schema.targets)
    rows = source.scores["arms"]["condensed"]["rows"]
    width = row.hidden or model.hidden
    return {
        "family": "series" if schema.hours else "table",
        "network": "lstm" if model.name.startswith("lstm") else "tcn" if row.series else "mlp",
        "targets": [target.name for target in schema.targets],
        "positives": [target.positive for target in schema.targets],
        "labels": labels,
        "offset": offset(source),
        "widths": tuple(times * width for times in WIDTHS.get(model.name, (1,))),
        "width": width,
        "dropout": model.dropout if row.dropout is None else row.dropout,
        "epochs": source.scores["arms"]["condensed"].get("epochs", evaluate.epochs),
        "momentum": evaluate.momentum,
        "weight_decay": rounded(evaluate.weight_decay / labels),
        "rows": rows,
        "alpha": rounded(evaluate.weight_decay * rows),
        "step_size": rounded(evaluate.step_size * math.sqrt(labels)),
        "summed_step_size": rounded(evaluate.step_size / math.sqrt(labels)),
        "indicators": source.recipe.prepare.indicators,
        "seed": source.recipe.seed,
    }


def offset(source: Source) -> list[float | None]:
    """Return per label what to add to a network's logit so that its risks are those of the cohort."""
    cohort = np.array(list(source.manifest["cohort"]["prevalence"].values()))
    kept = source.run.read_arrays("condensed.safetensors")["y"].mean(axis=0, dtype=np.float64)
    room = 0.5 / source.scores["arms"]["condensed"]["rows"]
    return [rounded(value) for value in logit(cohort) - logit(np.clip(kept, room, 1 - room))]


def recipe(source: Source, given: dict[str, Any]) -> list[str]:
    """Say how networks were trained on the set when it was scored."""
    evaluate, labels = source.recipe.evaluate, given["labels"]
    step = f"{evaluate.step_size:g}"
    if labels > 1:
        step = f"{given['step_size']:g} ({evaluate.step_size:g} times the square root of {labels} labels)"
    decay = f"weight decay {given['weight_decay']:g}" if given["weight_decay"] else "no weight decay"
    return [
        f"Network {source.recipe.model.name}, {given['width']} hidden units, dropout {given['dropout']:g} while "
        "training. Weights and biases start uniformly within one over the square root of their layer's inputs.",
        f"Binary cross-entropy{', the mean over labels' if labels > 1 else ''}; plain stochastic gradient descent, "
        f"step size {step}, momentum {evaluate.momentum:g} (not Nesterov), {decay}, no schedule.",
        f"{given['epochs']} epochs, all {given['rows']} patients at once{tried(evaluate.lengths)}. "
        "No early stopping: who receives the set has no validation data.",
        f"Inputs as in preparation.json: gaps filled, numbers standardised by the cohort's training patients and "
        f"clipped at {source.recipe.prepare.clip:g}, categories one-hot and, where they are many, "
        "scaled down. Do not standardise by the set itself: its spread is not the cohort's.",
        "The set is balanced, the cohort is not. Add the offset to the logit and risks have the cohort's prevalence; "
        "ranking does not change.",
    ]


def tried(lengths: tuple[int, ...]) -> str:
    """Say how the number of epochs was found."""
    if len(lengths) == 1:
        return ""
    return f"; of {listed([str(length) for length in lengths])} epochs, the best on the cohort's validation patients"


def listing(template: str, given: dict[str, Any]) -> str:
    """Return one listing as Python text."""
    found = templates("listings", escaped=False)
    found.filters["python"] = repr
    return found.get_template(template).render(given)

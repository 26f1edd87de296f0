"""How well models do that were trained on the set: every arm with its interval, and its share of the full cohort."""

from typing import Any

import numpy as np

from attar.evaluate.utility import jackknife_error
from attar.report.source import Facts, Source, rounded
from attar.show import ARMS

DRAWS = 4000
FEWEST = 3
"""Values, or groups of them, below which no interval is given."""

ALIKE = 0.0005
"""Difference of AUPRC below which the arrays as optimised are no row beside the exported table."""


def facts(source: Source) -> Facts:
    """Return the arms of the run, and label by label if there are several."""
    found = arms(source, source.scores["arms"])
    means = {arm["arm"]: arm["auprc"]["mean"] for arm in found}
    if abs(means.get("condensed_raw", means["condensed"]) - means["condensed"]) < ALIKE:
        found = [arm for arm in found if arm["arm"] != "condensed_raw"]
    settings = source.recipe.evaluate
    return {
        "arms": found,
        "labels": labels(source),
        "test_rows": source.manifest["cohort"]["split"]["test"],
        "initialisations": settings.initialisations,
        "draws": settings.draws,
    }


def models(source: Source) -> Facts | None:
    """Return what other models learned, if that was asked."""
    if not source.run.has("models.json"):
        return None
    results = source.run.read_json("models.json")
    rows = [
        {
            "model": name,
            "arms": {arm: _spread(scores[arm]) for arm in ("full", "random", "condensed")},
            "share": rounded(scores["condensed"]["auprc"]["mean"] / scores["full"]["auprc"]["mean"]),
        }
        for name, scores in results["models"].items()
    ]
    return {"models": rows, "method": results["method"], "per_class": results["per_class"]}


def external(source: Source) -> Facts | None:
    """Return the scores on other cohorts, if the run was tested on any."""
    cohorts = []
    for path in sorted(source.run.folder.glob("external-*.json")):
        result = source.run.read_json(path.name)
        cohorts.append(
            {
                "name": result["external"],
                "rows": result["rows"],
                "arms": arms(source, result["arms"]),
                "differences": [{"what": what, "names": names} for what, names in result["differences"].items()],
            }
        )
    return {"cohorts": cohorts} if cohorts else None


def arms(source: Source, scores: dict[str, Any]) -> list[Facts]:
    """Return a row an arm: AUROC, AUPRC and the share of the full cohort's AUPRC, each with a 95 % interval."""
    draws = source.recipe.evaluate.draws
    full = grouped(scores["full"]["auprc"]["values"], 1)
    rows = []
    for name, arm in scores.items():
        groups = draws if name == "random" else 1
        row: Facts = {"arm": name, "words": words(source, name), "rows": arm["rows"]}
        for metric in ("auroc", "auprc"):
            row[metric] = estimate(grouped(arm[metric]["values"], groups))
        without = [np.asarray(part["auprc"].get("without", [])) for part in (arm, scores["full"])]
        row["share"] = widened(share(grouped(arm["auprc"]["values"], groups), full), *without)
        rows.append(row)
    return rows


def words(source: Source, arm: str) -> str:
    """Return what an arm is called."""
    if arm == "condensed" and source.method.choose:
        return source.patients
    return ARMS.get(arm, arm)


def labels(source: Source) -> list[Facts]:
    """Return a row a label, if there are several: its prevalence, each arm's mean AUPRC and AUROC, and the share."""
    scores, prevalence = source.scores["arms"], source.manifest["cohort"]["prevalence"]
    rows = []
    for name in scores["full"].get("labels", {}):
        means = {
            arm: {metric: rounded(scores[arm]["labels"][name][metric]["mean"]) for metric in ("auroc", "auprc")}
            for arm in ("full", "random", "condensed")
        }
        part = scores["condensed"]["labels"][name]["auprc"]["mean"] / scores["full"]["labels"][name]["auprc"]["mean"]
        rows.append({"label": name, "prevalence": rounded(prevalence[name], 3), **means, "share": rounded(part)})
    return rows


def grouped(values: list[float], groups: int) -> np.ndarray:
    """Return values [groups, each]: those of one random draw belong together; others stand alone."""
    array = np.asarray(values, np.float64)
    return array.reshape(groups, -1) if groups > 1 and len(array) % groups == 0 else array[:, None]


def estimate(values: np.ndarray) -> Facts:
    """Return the mean of values [groups, each] with the interval of a bootstrap over groups."""
    low, high = _percentiles(_means(values)) if len(values) >= FEWEST else (None, None)
    return {"mean": rounded(values.mean()), "low": low, "high": high}


def share(values: np.ndarray, full: np.ndarray) -> Facts:
    """Return the mean over the full cohort's, with its interval; the same initialisations are drawn in pairs."""
    low, high = None, None
    if min(len(values), len(full)) >= FEWEST:
        below = _means(full) if values.shape == full.shape else _means(full, seed=1)
        low, high = _percentiles(_means(values) / below)
    return {"mean": rounded(values.mean() / full.mean(), 6), "low": low, "high": high}


def widened(share: Facts, without: np.ndarray, full_without: np.ndarray) -> Facts:
    """Return a share whose interval also allows for who was tested: a jackknife over groups of test patients.

    Both AUPRC come without each group in turn; those of a run that has none keep the interval of its initialisations.
    """
    if share["low"] is None or not len(without) or len(without) != len(full_without):
        return share
    error, mean = 1.96 * float(jackknife_error(without / full_without)), share["mean"]
    low, high = mean - np.hypot(mean - share["low"], error), mean + np.hypot(share["high"] - mean, error)
    return {"mean": mean, "low": rounded(low), "high": rounded(high)}


def _means(values: np.ndarray, seed: int = 0) -> np.ndarray:
    chosen = np.random.default_rng(seed).integers(0, len(values), (DRAWS, len(values)))
    return np.asarray(values.mean(axis=1)[chosen].mean(axis=1))


def _percentiles(means: np.ndarray) -> tuple[float | None, float | None]:
    low, high = np.percentile(means, [2.5, 97.5])
    return rounded(low), rounded(high)


def _spread(arm: dict[str, Any]) -> Facts:
    return {"auprc": {"mean": rounded(arm["auprc"]["mean"]), "std": rounded(arm["auprc"]["std"])}}

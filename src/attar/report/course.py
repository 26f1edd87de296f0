"""How the outer loop went: losses, step size and validation AUPRC against iterations, and what guards did."""

import numpy as np

from attar.report.source import Facts, Source, rounded

POINTS = 200
"""Points at most of a line: longer histories are shown as means over windows."""


def facts(source: Source) -> Facts | None:
    """Return the history of the run in at most `POINTS` windows; None for a method that only picks real patients."""
    if not source.run.has("history.parquet"):
        return None
    table = source.run.read_table("history.parquet")
    iterations, loss = table["iteration"].to_numpy(), table["loss"].to_numpy(np.float64)
    scored = table["val_auprc"].notna().to_numpy()
    follow, stay = slice(source.recipe.inputs.iterations), slice(source.recipe.inputs.iterations, None)
    selection = source.scores["selection"]
    return {
        "loss": windows(iterations[follow], loss[follow]),
        "disagreement": windows(iterations[stay], loss[stay]),
        "step_size": windows(iterations[follow], table["step_size"].to_numpy(np.float64)[follow]),
        "val_auprc": windows(iterations[scored], table["val_auprc"].to_numpy(np.float64)[scored]),
        "kept": {"iteration": selection["iteration"], "val_auprc": rounded(selection.get("value", np.nan))},
        "first_loss": rounded(_ends(loss[follow])[0], 3),
        "last_loss": rounded(_ends(loss[follow])[1], 3),
        "first_disagreement": rounded(_ends(loss[stay])[0], 3),
        "last_disagreement": rounded(_ends(loss[stay])[1], 3),
        "iterations": len(loss[follow]),
        "staying": len(loss[stay]),
        "harden": source.recipe.inputs.harden,
        "every": source.recipe.selection.every,
        "keep": source.recipe.selection.keep,
        "guards": guards(source),
    }


def windows(iterations: np.ndarray, values: np.ndarray) -> list[Facts]:
    """Return a row a window: its last iteration, the mean, and the 10th and 90th percentile of what is finite in it."""
    rows = []
    for part in np.array_split(np.arange(len(values)), min(POINTS, max(len(values), 1))):
        found = values[part][np.isfinite(values[part])]
        if len(found):
            low, high = np.percentile(found, [10, 90])
            shown = {"mean": rounded(found.mean()), "low": rounded(low), "high": rounded(high)}
            rows.append({"iteration": int(iterations[part[-1]]), **shown})
    return rows


def guards(source: Source) -> str:
    """Say in words what the guards did."""
    found, recipe = source.manifest["guards"], source.recipe
    skipped, back = found.get("skipped", 0), found.get("rolled_back", 0)
    if not skipped:
        return "No guard was needed: every matching loss was finite and below the limit."
    return (
        f"{skipped:,} of {recipe.iterations:,} steps were skipped because the matching loss was above "
        f"{recipe.inputs.loss_limit:g} or not finite, and the patients were taken back to their last good state "
        f"{back:,} {'time' if back == 1 else 'times'}."
    )


def _ends(loss: np.ndarray) -> tuple[float, float]:
    finite, tenth = loss[np.isfinite(loss)], max(1, len(loss) // 10)
    return (float(finite[:tenth].mean()), float(finite[-tenth:].mean())) if len(finite) else (np.nan, np.nan)

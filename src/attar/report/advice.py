"""What to change when a set is not good enough, from what the run shows, the most promising first."""

import numpy as np

from attar.report.source import Facts, Source

FEW_TESTED = 50
"""Test patients of the rarer class below which a share of the full cohort's AUPRC is mostly chance."""

STILL_RISING = 0.02
"""A run was cut short if the validation AUPRC of its last fifth is above that of the fifth before by this share."""

NEAR = 0.97
"""Share of the condensed set's AUPRC from which random patients count as nearly as good."""


def advice(source: Source, arms: Facts, grade: str) -> list[str]:
    """Return what to try, as sentences with the option to give; nothing for a good set."""
    if grade == "good" or source.method.choose:
        return []
    tips = [tip for rule in (too_few_to_tell, cut_short, skipped, too_small) if (tip := rule(source, arms))]
    return tips or ["Try another seed (--seed 1): how much the share changes is how much of it is chance."]


def too_few_to_tell(source: Source, arms: Facts) -> str | None:
    """The test split may be too small to say anything."""
    split, prevalence = source.manifest["cohort"]["split"], source.manifest["cohort"]["prevalence"]
    fewest = min(split["test"] * min(share, 1 - share) for share in prevalence.values())
    if fewest >= FEW_TESTED:
        return None
    return (
        f"Only about {fewest:.0f} test patients are of the rarest class: the share above is uncertain, and its "
        "interval only rough. Compare several seeds (--seed 1, --seed 2) before changing anything."
    )


def cut_short(source: Source, arms: Facts) -> str | None:
    """The set may still have been getting better."""
    if not source.run.has("history.parquet"):
        return None
    scores = source.run.read_table("history.parquet")["val_auprc"].dropna().to_numpy()
    fifth = len(scores) // 5
    if not fifth or np.mean(scores[-fifth:]) < (1 + STILL_RISING) * np.mean(scores[-2 * fifth : -fifth]):
        return None
    recipe = source.recipe
    part, iterations = ("stay", recipe.stay.iterations) if recipe.stay.iterations else ("inputs", recipe.iterations)
    longer = f"--set {part}.iterations={2 * iterations}"
    return f"The set was still getting better when the run ended: give it longer ({longer})."


def skipped(source: Source, arms: Facts) -> str | None:
    """Steps that the guards skipped were wasted."""
    share = source.manifest["guards"].get("skipped", 0) / source.recipe.iterations
    if share < 0.05:
        return None
    smaller = source.recipe.inputs.step_size / 3
    return (
        f"{share:.0%} of the steps were skipped by the guards: take smaller ones (--set inputs.step_size={smaller:g})."
    )


def too_small(source: Source, arms: Facts) -> str | None:
    """More patients hold more."""
    rows_each = arms["condensed"]["rows"] / source.recipe.per_class
    most = min(2 * source.recipe.per_class, int(0.4 * source.manifest["cohort"]["split"]["train"] / rows_each))
    if most <= source.recipe.per_class:
        return None
    near = arms["random"]["auprc"]["mean"] >= NEAR * arms["condensed"]["auprc"]["mean"]
    why = " (as many random real patients serve nearly as well, so there is little to condense)" if near else ""
    return f"More patients hold more of the cohort: try --per-class {most}{why}."

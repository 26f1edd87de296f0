"""What the set is not, and what the run warned of."""

from attar.report.source import Facts, Source


def facts(source: Source) -> Facts:
    """Return the limits that hold for this run, and the warnings it gave."""
    return {"limits": [*of_privacy(source), *of_use(source)], "warnings": list(source.manifest["warnings"])}


def of_privacy(source: Source) -> list[str]:
    """Say what is known about privacy: no guarantee."""
    if source.method.choose:
        return [
            "These are real patients, chosen from the cohort; only gaps and rare categories are filled in. Whatever "
            "rules hold for the cohort hold for this table: do not hand it out as synthetic."
        ]
    start = (
        "Every patient started as a real one and was moved from there; some values may still be those of real people. "
        if source.recipe.inputs.start == "real"
        else "The patients were drawn from the cohort's means and covariances and moved from there. "
    )
    return [
        "There is no formal privacy guarantee. Nothing in this run limits what the patients reveal about the cohort.",
        start + "Decide about release as you would for any extract of the cohort.",
    ]


def of_use(source: Source) -> list[str]:
    """Say what the scores do and do not show."""
    settings, several = source.recipe.evaluate, len(source.schema.targets) > 1
    limits = []
    if not source.method.choose:
        limits.append(
            "The patients are built to train models, not to be read. A row need not make clinical sense, and counts, "
            "means or associations computed from the table are not those of the cohort."
        )
        limits.append(
            "Outcomes are about balanced in the table, whatever they are in the cohort: predicted risks are too high "
            "until the offset under “How to train on it” is added."
        )
    limits += [
        f"One split and one seed ({source.recipe.seed}). Intervals of AUROC and AUPRC are bootstraps over "
        f"{settings.initialisations} initialisations of the networks (of random patients, over their draws); that of "
        "the share also allows for who was tested. None shows how much another split would change the scores.",
        f"It was made for {'these outcomes' if several else 'this outcome'} with the network "
        f"{source.recipe.model.name}. For another outcome, or a very different model, its worth is not known.",
        "AUROC and AUPRC measure ranking. Calibration, fairness between groups and use in care were not tested here.",
    ]
    if several:
        limits.append("Scores over all outcomes are plain means over those that are common enough to be scored.")
    return limits

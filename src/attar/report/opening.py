"""The head of the report: title, verdict, what was done in one paragraph, and the numbers that matter most."""

from attar import __version__
from attar.report.advice import advice
from attar.report.source import Facts, Source
from attar.report.spoken import duration, interval, listed, percent

CLOSE, FAIR = 0.95, 0.85
"""Shares of the full cohort's AUPRC from which a set is called good, and fair."""

BEYOND = 1.05
"""Share from which random patients do too well for the full cohort to be a measure."""

HARDLY, PERFECT = 0.6, 0.99
"""AUROC below which all real patients hardly predict the outcome, and from which they do so suspiciously well."""


def opening(source: Source, sections: Facts) -> Facts:
    """Return what stands above the sections."""
    cohort, arms = source.manifest["cohort"], {arm["arm"]: arm for arm in sections["utility"]["arms"]}
    rows = arms["condensed"]["rows"]
    return {
        "attar": __version__,
        "title": f"{cohort['name']}: {rows:,} {source.patients}",
        "subtitle": f"{source.method.title} ({source.recipe.method}), seed {source.recipe.seed}",
        "verdict": verdict(source, arms),
        "done": done(source, rows),
        "numbers": numbers(source, arms),
    }


def verdict(source: Source, arms: Facts) -> Facts:
    """Judge the set by its share of the full cohort's AUPRC, by the interval of that, and against random patients."""
    condensed, random = arms["condensed"], arms["random"]
    share, rows = condensed["share"], condensed["rows"]
    low = share["mean"] if share["low"] is None else share["low"]
    if condensed["auprc"]["mean"] <= random["auprc"]["mean"]:
        grade, judged = "poor", "Not useful: as many random real patients serve as well"
    elif low >= CLOSE:
        grade, judged = "good", "Good"
    elif share["mean"] >= FAIR:
        grade, judged = "fair", "Fair"
    else:
        grade, judged = "poor", "Weak"
    said = f" (95 % interval {interval(share, percent)})" if share["low"] is not None else ""
    words = (
        f"{judged}. Models trained on the {rows:,} {source.patients} reach {percent(share['mean'])}{said} of the AUPRC "
        f"that all {arms['full']['rows']:,} real training patients give; as many random real patients reach "
        f"{percent(random['share']['mean'])}."
    )
    if arms["full"]["auroc"]["mean"] < HARDLY:
        words += " Even all real patients hardly predict the outcome, so this share says little."
    elif arms["full"]["auroc"]["mean"] > PERFECT:
        words += (
            " So nearly perfect a prediction says that a column may be known only after the outcome: look for it, and "
            "leave it out with --drop."
        )
    elif random["share"]["mean"] > BEYOND:
        words += " That a few random ones serve better than all says that all of them are a poor measure here."
    return {"grade": grade, "words": words, "advice": advice(source, arms, grade)}


def done(source: Source, rows: int) -> str:
    """Say in one paragraph what was done."""
    cohort, recipe, split = source.manifest["cohort"], source.recipe, source.manifest["cohort"]["split"]
    outcomes = [f"{name} ({percent(share)})" for name, share in cohort["prevalence"].items()]
    many = f"{len(outcomes)} outcomes, the commonest {percent(max(cohort['prevalence'].values()))}"
    outcome = f"the outcome {outcomes[0]}" if len(outcomes) == 1 else many
    text = (
        f"{cohort['name']} has {cohort['rows']:,} patients with {contents(source)} and {outcome}. They were divided "
        f"into {split['train']:,} for training, {split['validation']:,} for validation and {split['test']:,} for "
        "testing. "
    )
    if source.method.choose:
        text += f"Of the training patients, {rows:,} were chosen ({source.method.title}); nothing was synthesised. "
    else:
        text += (
            f"{recipe.teachers.count} networks ({recipe.model.name}) were trained on the training patients for "
            f"{recipe.teachers.epochs} epochs each, and their trainings summarised as paths ({recipe.path.kind}). "
            f"{rows:,} patients were then moved over {recipe.inputs.iterations:,} iterations until a network trained "
            "on them follows those paths"
        )
        if recipe.stay.iterations:
            text += (
                f", and over {recipe.stay.iterations:,} more until networks that train on, as yours will, rank "
                "patients as those of the real data do"
            )
        text += ". A version that serves validation patients as well as any was kept"
        iteration = source.scores["selection"]["iteration"]
        text += f" (iteration {iteration:,}). " if iteration else ". "
    times = [f"{name} {duration(seconds)}" for name, seconds in source.manifest["seconds"].items()]
    return text + f"The test patients were used once, for the scores below. Time: {listed(times) or 'not recorded'}."


def contents(source: Source) -> str:
    """Say what is known of a patient."""
    schema = source.schema
    columns = f"{len(schema.columns)} columns" if len(schema.columns) != 1 else "1 column"
    if not schema.hours:
        return columns
    return f"{len(schema.channels)} channels over {schema.hours} hours, {columns} that do not change"


def numbers(source: Source, arms: Facts) -> list[Facts]:
    """Return the four numbers that a reader looks for first."""
    condensed, full = arms["condensed"], arms["full"]
    return [
        {"name": "patients", "value": f"{condensed['rows']:,}", "beside": f"for {full['rows']:,} real ones"},
        {
            "name": "share of full AUPRC",
            "value": percent(condensed["share"]["mean"]),
            "beside": f"random: {percent(arms['random']['share']['mean'])}",
        },
        {
            "name": "AUPRC",
            "value": f"{condensed['auprc']['mean']:.3f}",
            "beside": f"full: {full['auprc']['mean']:.3f}",
        },
        {
            "name": "AUROC",
            "value": f"{condensed['auroc']['mean']:.3f}",
            "beside": f"full: {full['auroc']['mean']:.3f}",
        },
    ]

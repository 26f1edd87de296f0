"""What the command line prints: tables for people, JSON for programs."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

ARMS = {
    "full": "all real patients",
    "random": "random real patients",
    "condensed": "condensed table",
    "condensed_raw": "condensed arrays",
}
FILES = {
    "condensed.parquet": "the condensed patients, in the cohort's own columns and units",
    "condensed.csv": "the same, for everything that reads text",
    "patients.parquet": "what does not change over time, and the outcomes (also as patients.csv)",
    "condensed.npz": "the series as arrays, for NumPy",
    "scores.json": "every score of every arm",
    "manifest.json": "versions, fingerprint, settings, seconds, guards",
}


def scores(console: Console, results: dict[str, Any], where: str = "tested on real patients") -> None:
    """Print one row an arm: rows, AUROC, AUPRC, share of the full cohort's AUPRC."""
    arms = results["arms"]
    table = Table(title=f"{results['method']}, {results['per_class']} per class, {where}", title_justify="left")
    for heading, justify in (
        ("arm", "left"),
        ("rows", "right"),
        ("AUROC", "right"),
        ("AUPRC", "right"),
        ("share of full", "right"),
    ):
        table.add_column(heading, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for name, arm in arms.items():
        table.add_row(
            ARMS.get(name, name),
            f"{arm['rows']:,}",
            f"{arm['auroc']['mean']:.3f} ± {arm['auroc']['std']:.3f}",
            f"{arm['auprc']['mean']:.3f} ± {arm['auprc']['std']:.3f}",
            f"{arm['auprc']['mean'] / arms['full']['auprc']['mean']:.1%}",
            style="bold" if name == "condensed" else "",
        )
    console.print(table)


def models(console: Console, results: dict[str, Any]) -> None:
    """Print one row a model: AUPRC after training on all real, random and condensed patients, share of the first."""
    table = Table(
        title=f"{results['method']}, {results['per_class']} per class, AUPRC by model, tested on real patients",
        title_justify="left",
    )
    table.add_column("model", no_wrap=True)
    for heading in ("all real", "random", "condensed", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, arms in results["models"].items():
        cells = [f"{arms[arm]['auprc']['mean']:.3f} ± {arms[arm]['auprc']['std']:.3f}" for arm in arms]
        share = arms["condensed"]["auprc"]["mean"] / arms["full"]["auprc"]["mean"]
        table.add_row(name, *cells, f"{share:.1%}")
    console.print(table)


def result(console: Console, results: dict[str, Any], folder: Path) -> None:
    """Print what a command found: the scores of a run, or of many models."""
    if "prepared" in results:
        prepared(console, results["prepared"])
    elif "external" in results:
        external(console, results, folder)
    elif "models" in results:
        models(console, results)
        for name, purpose in {"models.json": "every score", "models.png": "the same as a picture"}.items():
            console.print(f"{folder / name}  {purpose}", style="dim", highlight=False, markup=False)
    else:
        scores(console, results)
        files(console, folder)


def external(console: Console, results: dict[str, Any], folder: Path) -> None:
    """Print the scores on another cohort and in what it differs."""
    where = f"tested on {results['rows']:,} patients of {results['external']}"
    scores(console, results, where)
    for words, names in results["differences"].items():
        console.print(f"{words}: {', '.join(names)}", highlight=False, markup=False, soft_wrap=True)
    name = f"external-{results['external']}.json"
    console.print(f"{folder / name}  every score", style="dim", highlight=False, markup=False)


def prepared(console: Console, cohorts: dict[str, Any]) -> None:
    """Print what a source gave: what was kept, what was dropped, what to know."""
    for folder, facts in cohorts.items():
        size = f"{facts['rows']:,} patients"
        if "hours" in facts:
            size += f", {facts['channels']} channels x {facts['hours']} hours"
        console.print(f"{folder}  {size}", style="bold", highlight=False, markup=False, soft_wrap=True)
        targets = ", ".join(f"{name} {share:.1%}" for name, share in facts["targets"].items())
        counts = {word: _counts(facts[word]) for word in ("kept", "dropped")}
        for word, text in {"source": facts["title"], "targets": targets, **counts}.items():
            console.print(Padding(f"{word}: {text}", (0, 0, 0, 2)), highlight=False, markup=False)
        for note in facts["notes"]:
            console.print(Padding(f"note: {note}", (0, 0, 0, 2)), highlight=False, markup=False)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {words}" for words, count in counts.items()) or "nothing"


def files(console: Console, folder: Path) -> None:
    """Print what was written and what it is for."""
    for name, purpose in FILES.items():
        if not (folder / name).is_file():
            continue
        console.print(f"{folder / name}  {purpose}", style="dim", highlight=False, markup=False, soft_wrap=True)


def cohort(console: Console, described: Any) -> None:
    """Print a cohort in two lines: what it is, and the kinds its columns were taken for."""
    console.print(f"{described!r}", highlight=False, markup=False, soft_wrap=True)
    kinds: dict[str, list[str]] = {}
    for column in described.schema.columns:
        kinds.setdefault(column.kind, []).append(column.name)
    for channel in described.schema.channels:
        kinds.setdefault(f"{channel.kind}, by hour", []).append(channel.name)
    for kind, names in kinds.items():
        console.print(f"  {kind}: {', '.join(names)}", style="dim", highlight=False, markup=False)


def catalogue(console: Console, rows: list[dict[str, Any]]) -> None:
    """Print the cohorts at hand, a paragraph each."""
    for row in rows:
        targets = ", ".join(f"{name} {share:.1%}" for name, share in row["targets"].items())
        console.print(f"[bold]{row['name']}[/]  {row['rows']:,} rows, {row['features']} features", highlight=False)
        for text in (row["title"], f"targets: {targets}", f"licence: {row['licence']}", f"cite: {row['citation']}"):
            console.print(Padding(text, (0, 0, 0, 2)), highlight=False, markup=False)

"""What the command line prints: tables for people, JSON for programs."""

from collections.abc import Callable, Mapping
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
    "report.html": "the report, for people: open it in a browser",
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
    """Print what a command found, as the row of `SHOWN` says that it is told by."""
    next(show for key, show in SHOWN.items() if key in results)(console, results, folder)


def run(console: Console, results: dict[str, Any], folder: Path) -> None:
    """Print the scores of a run, whether they are good, what to change if not, and its files."""
    scores(console, results)
    if "verdict" in results:
        verdict(console, results["verdict"])
    files(console, folder)


def verdict(console: Console, found: Mapping[str, Any]) -> None:
    """Print what the report says first, and what to try next."""
    console.print(found["words"], highlight=False, markup=False)
    for tip in found["advice"]:
        console.print(Padding(tip, (0, 0, 0, 2)), highlight=False, markup=False)


def many_models(console: Console, results: dict[str, Any], folder: Path) -> None:
    """Print the scores of many models and their files."""
    models(console, results)
    files(console, folder, {"models.json": "every score", "models.png": "the same as a picture"})


def geometry(console: Console, results: dict[str, Any], folder: Path) -> None:
    """Print how broad each method's supervision is, what no student could reach, and what was reached."""
    table = Table(title="matching loss of sampled segments, and what it cannot undercut", title_justify="left")
    table.add_column("method", no_wrap=True)
    for heading in ("segments", "bound", "loss", "violations"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, found in results["bounds"].items():
        numbers = (f"{found[key]:.3f}" for key in ("mean_bound", "mean_loss"))
        table.add_row(name, f"{found['segments']}", *numbers, f"{found['violations']}")
    console.print(table)
    for kind, found in results["spectrum"].items():
        console.print(
            f"{kind}: {found['rank_by_energy']} directions hold 95 % of the energy, effective rank "
            f"{found['rank_by_entropy']:.1f}",
            highlight=False,
            markup=False,
        )
    files(console, folder, {"geometry.json": "every number", "report.html": "the pictures, with the whole report"})


def report(console: Console, results: dict[str, Any], folder: Path) -> None:
    """Print where the report is."""
    files(console, folder, {"report.html": "the report", "report.json": "its facts"})


def external(console: Console, results: dict[str, Any], folder: Path) -> None:
    """Print the scores on another cohort and in what it differs."""
    where = f"tested on {results['rows']:,} patients of {results['external']}"
    scores(console, results, where)
    for words, names in results["differences"].items():
        console.print(f"{words}: {', '.join(names)}", highlight=False, markup=False, soft_wrap=True)
    files(console, folder, {f"external-{results['external']}.json": "every score"})


def prepared(console: Console, results: dict[str, Any], folder: Path) -> None:
    """Print what a source gave: what was kept, what was dropped, what to know."""
    for name, facts in results["prepared"].items():
        size = f"{facts['rows']:,} patients"
        if "hours" in facts:
            size += f", {facts['channels']} channels x {facts['hours']} hours"
        console.print(f"{name}  {size}", style="bold", highlight=False, markup=False, soft_wrap=True)
        targets = ", ".join(f"{name} {share:.1%}" for name, share in facts["targets"].items())
        counts = {word: _counts(facts[word]) for word in ("kept", "dropped")}
        for word, text in {"source": facts["title"], "targets": targets, **counts}.items():
            console.print(Padding(f"{word}: {text}", (0, 0, 0, 2)), highlight=False, markup=False)
        for note in facts["notes"]:
            console.print(Padding(f"note: {note}", (0, 0, 0, 2)), highlight=False, markup=False)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {words}" for words, count in counts.items()) or "nothing"


def files(console: Console, folder: Path, purposes: Mapping[str, str] = FILES) -> None:
    """Print what was written and what it is for."""
    for name, purpose in purposes.items():
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


SHOWN: dict[str, Callable[[Console, dict[str, Any], Path], None]] = {
    "prepared": prepared,
    "external": external,
    "models": many_models,
    "spectrum": geometry,
    "report": report,
    "arms": run,
}
"""What is printed of a result that has this key; the first that fits."""

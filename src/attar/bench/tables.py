"""The tables of a suite that compares methods or settings, and that of what they store."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from attar.bench.compare import tally
from attar.bench.contest import FULL, Contest, Pair, contest, measures
from attar.bench.rows import SCORES, SETTINGS, Key, Shown, in_order, who_words
from attar.bench.typeset import Block, Cell
from attar.geometry.looks import in_words

EVERY = "every epoch"
"""What is compared with what methods store: a checkpoint of every epoch."""


def grid(shown: Shown) -> list[Block]:
    """Return a table for each score and cohort, contestants against patients per class, and the count of wins.

    Where every cohort has been condensed to one budget, cohorts stand beside each other instead.
    """
    contests = [contest(shown, measure) for measure in measures(shown)]
    blocks = []
    for cohorts in _together(shown, contests):
        blocks += [_budgets(one, cohorts) for one in contests if any(one.budgets(cohort) for cohort in cohorts)]
    return blocks + _wins(contests)


def labels(shown: Shown) -> list[Block]:
    """Return the tables of the mean over labels, and AUPRC label by label at the largest budget."""
    blocks, one = grid(shown), contest(shown, "auprc")
    for cohort in shown.cohorts:
        if (names := one.labels(cohort)) and (counts := one.budgets(cohort)):
            places = [Key(cohort, "", counts[-1], label=name) for name in names]
            title = f"{cohort}, AUPRC by label, {counts[-1]} per class"
            block = _transposed(one, title, "label", names, places)
            rows = tuple((name, tuple(replace(cell, remark="") for cell in cells)) for name, cells in block.rows)
            blocks.append(replace(block, rows=rows))
    return blocks


def models(shown: Shown) -> list[Block]:
    """Return a table for each cohort and budget, models against contestants."""
    one = contest(shown, "auprc", "models")
    blocks = []
    for cohort, per_class in [(name, count) for name in shown.cohorts for count in one.budgets(name)]:
        names = one.models(cohort)
        own = condensed_with(shown, cohort)
        places = [Key(cohort, "", per_class, model=name) for name in names]
        words = [f"{name} (condensed with)" if name == own else name for name in names]
        blocks.append(_transposed(one, f"{cohort}, AUPRC by model, {per_class} per class", "model", words, places))
    return blocks


def condensed_with(shown: Shown, cohort: str) -> str:
    """Return the model that a cohort's sets were condensed with."""
    rows = shown.rows[(shown.rows["cohort"] == cohort) & (shown.rows["want"] == "scores")]
    return str(rows["model"].iloc[0]) if len(rows) else ""


def storage(shown: Shown) -> list[Block]:
    """Return the bytes of every method's teachers and paths, and how many times less than the most they are."""
    sizes = stored(shown)
    names = in_order({name for by_name in sizes.values() for name in by_name}, [EVERY, *shown.suite.methods])
    most = {cohort: max(by_name.values()) for cohort, by_name in sizes.items()}
    rows = []
    for name in names:
        cells = []
        for cohort, by_name in sizes.items():
            size = by_name.get(name)
            less = f"({most[cohort] / size:.1f}× less)" if size and size < most[cohort] else ""
            cells.append(Cell(in_words(round(size)), less, mean=size) if size else Cell())
        rows.append((who_words(name), tuple(cells)))
    return [Block("Bytes on disk for all teachers", "stored", tuple(sizes), tuple(rows))] if rows else []


def stored(shown: Shown) -> dict[str, dict[str, float]]:
    """Return, for every cohort, the bytes that each method stores and those of a checkpoint of every epoch."""
    rows = shown.rows[shown.rows["measure"] == "bytes"]
    every = rows["label"] == "checkpoints"
    whole = rows[every].groupby("cohort")["value"].max()
    parts = rows[~every].groupby(["cohort", "method", "cell"])["value"].sum().groupby(["cohort", "method"]).mean()
    found: dict[str, dict[str, float]] = {}
    for cohort in shown.cohorts:
        if cohort in whole:
            found[cohort] = {EVERY: float(whole[cohort])}
        if cohort in parts:
            found.setdefault(cohort, {}).update(
                {name: float(parts[cohort][name]) for name in in_order(parts[cohort].index, shown.suite.methods)}
            )
    return found


def _together(shown: Shown, contests: Sequence[Contest]) -> list[tuple[str, ...]]:
    counts = {count for one in contests for cohort in shown.cohorts for count in one.budgets(cohort)}
    return [shown.cohorts] if len(counts) == 1 and len(shown.cohorts) > 1 else [(cohort,) for cohort in shown.cohorts]


def _budgets(one: Contest, cohorts: Sequence[str]) -> Block:
    places = [Key(cohort, "", count) for cohort in cohorts for count in one.budgets(cohort)]
    found = [one.cells(place) for place in places]
    pairs = [*one.contestants, FULL]
    rows = tuple((one.shown.called(*pair), tuple(cells[pair] for cells in found)) for pair in pairs)
    alone, several = len(cohorts) == 1, any(one.labels(cohort) for cohort in cohorts)
    score = SCORES[one.measure] + (" (mean over labels)" if several else "")
    title = f"{cohorts[0]}, {score}" if alone else f"{score}, {places[0].per_class} per class"
    columns = tuple(f"{place.per_class} per class" if alone else place.cohort for place in places)
    corner = SETTINGS.get(one.shown.suite.vary, one.shown.suite.vary) or "trained on"
    return Block(title, corner, columns, rows, below=1)


def _transposed(one: Contest, title: str, corner: str, names: Sequence[str], places: Iterable[Key]) -> Block:
    pairs = [*one.contestants, FULL]
    found = [one.cells(place) for place in places]
    rows = [(name, tuple(cells[pair] for pair in pairs)) for name, cells in zip(names, found, strict=True)]
    return Block(title, corner, tuple(one.shown.called(*pair) for pair in pairs), tuple(rows))


def _wins(contests: Sequence[Contest]) -> list[Block]:
    columns: list[str] = []
    rows: dict[Pair, list[Cell]] = {}
    for one in contests:
        cells = [one.cells(Key(cohort, "", count)) for cohort in one.shown.cohorts for count in one.budgets(cohort)]
        if not cells:
            continue
        counts = tally({pair: cell.mark for pair, cell in by_pair.items()} for by_pair in cells)
        columns += [f"{SCORES[one.measure]} {what} of {len(cells)}" for what in ("wins", "ties")]
        for pair in one.contestants:
            rows.setdefault(pair, []).extend(Cell(str(count), mean=count) for count in counts[pair])
        if one.measure == "auprc":
            columns.append("mean share of full")
            for pair in one.contestants:
                shares = [by_pair[pair].share for by_pair in cells if by_pair[pair].share == by_pair[pair].share]
                mean = float(np.mean(shares)) if shares else float("nan")
                rows[pair].append(Cell(f"{100 * mean:.1f} %", mean=mean) if shares else Cell())
    lines = tuple((contests[0].shown.called(*pair), tuple(cells)) for pair, cells in rows.items())
    return [Block("Wins and ties", "", tuple(columns), lines)] if lines else []

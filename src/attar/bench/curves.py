"""The curves of a suite by cohort and by method or kind of path, and the tables that sum them up."""

from collections.abc import Callable

import pandas as pd

from attar.bench.rows import Shown, in_order, line, number, who_words
from attar.bench.typeset import Block, Cell
from attar.geometry.looks import in_order as kinds_in_order
from attar.geometry.looks import path_words
from attar.methods import METHODS

RANKS = {"rank_by_energy": "Directions that hold 95 % of the energy", "rank_by_entropy": "Effective rank by entropy"}
"""Measure of the displacements: the title of its table."""

LAST = 0.1
"""Share of the iterations, the last ones, over which a matching loss is averaged."""

Curves = dict[str, dict[str, pd.DataFrame]]
"""Cohort, with the budget where there are several: method or kind of path: rows with x and value."""


def curve(shown: Shown) -> list[Block]:
    """Return the matching loss over the last iterations, methods against cohorts."""

    def last(rows: pd.DataFrame) -> pd.Series:
        wide = line(rows, len(rows))
        return wide.iloc[-max(1, round(LAST * len(wide))) :].mean()

    lines = {
        place: {who_words(name): part for name, part in by_name.items()} for place, by_name in matched(shown).items()
    }
    return _summary(shown, lines, "Matching loss over the last tenth of the iterations", "method", last, "{:.3f}")


def matched(shown: Shown) -> Curves:
    """Return the rows of matching losses of each method, by cohort and budget."""
    rows = shown.rows[(shown.rows["measure"] == "loss") & shown.rows["x"].notna()]
    several = rows["per_class"].nunique() > 1
    found = {}
    for cohort in shown.cohorts:
        for count, part in rows[rows["cohort"] == cohort].groupby("per_class"):
            by_method = dict(list(part.groupby("method")))
            place = f"{cohort}, {count} per class" if several else cohort
            found[place] = {name: by_method[name] for name in in_order(by_method, shown.suite.methods)}
    return found


def profile(shown: Shown) -> list[Block]:
    """Return the mean loss on the way, kinds of path against cohorts."""
    title = "Training loss, mean over the path"
    return _summary(shown, _spoken(walked(shown)), title, "path", lambda rows: line(rows, len(rows)).mean(), "{:.3f}")


def walked(shown: Shown) -> Curves:
    """Return the rows of the loss along each kind of path, by cohort."""
    kinds = {"sgd_loss": "checkpoints", "line_loss": "line"}
    rows = shown.rows[shown.rows["measure"].isin([*kinds, "path_loss"])]
    followed = rows["method"].map(lambda name: METHODS[name].path)
    return _by_kind(shown, rows, rows["measure"].map(kinds).fillna(followed))


def spectrum(shown: Shown) -> list[Block]:
    """Return how many directions each kind of path asks for, against cohorts."""
    blocks = []
    for measure, title in RANKS.items():
        ranks = _spoken(spanned(shown, measure))
        blocks += _summary(shown, ranks, title, "path", lambda rows: rows.groupby("seed")["value"].mean(), "{:.1f}")
    return blocks


def spanned(shown: Shown, measure: str) -> Curves:
    """Return the rows of what was measured of the displacements of each kind of path, by cohort."""
    rows = shown.rows[shown.rows["measure"] == measure]
    return _by_kind(shown, rows, rows["label"])


def _by_kind(shown: Shown, rows: pd.DataFrame, kinds: pd.Series) -> Curves:
    found = {}
    for cohort in shown.cohorts:
        here = rows["cohort"] == cohort
        if here.any():
            found[cohort] = kinds_in_order(dict(list(rows[here].groupby(kinds[here]))))
    return found


def _spoken(lines: Curves) -> Curves:
    return {place: {path_words(kind): part for kind, part in by_kind.items()} for place, by_kind in lines.items()}


def _summary(
    shown: Shown,
    lines: Curves,
    title: str,
    corner: str,
    summary: Callable[[pd.DataFrame], pd.Series],
    form: str,
) -> list[Block]:
    names = list(dict.fromkeys(name for by_name in lines.values() for name in by_name))
    several = shown.rows["seed"].nunique() > 1
    rows = []
    for name in names:
        cells = []
        for by_name in lines.values():
            score = number(summary(by_name[name]), several) if name in by_name else None
            text = form.format(score.mean) if score else "-"
            text += f" ± {form.format(score.std)}" if score and score.std == score.std else ""
            cells.append(Cell(text, "", "", score.mean, score.std, len(score.seeds)) if score else Cell())
        rows.append((name, tuple(cells)))
    return [Block(title, corner, tuple(lines), tuple(rows))] if rows else []

"""Which rows of the results a suite shows, gathered seed by seed; and what the parts of a suite are called."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from attar.bench.suite import Suite

SCORES = {"auprc": "AUPRC", "auroc": "AUROC"}
"""Measures of which more is better: their names in headings."""

ARMS = {"condensed": "", "random": "random", "full": "full"}
"""Arms that are shown, and what stands for them in place of the method."""

WHO = {"random": "random patients", "full": "all patients", "convex-line": "convex line"} | {
    name: name.upper() for name in ("btm", "mtt", "ftd", "datm", "mct")
}
"""Method or arm: its name in tables and pictures."""

SETTINGS = {
    "student.steps": "student steps",
    "segments.length": "segment length",
    "inputs.start": "start of the inputs",
    "teachers.prior": "prior of the teachers",
    "path.degree": "degree of the curve",
}
"""Setting: what its axis is called."""

POINTS = 80
"""Points of the longest line; longer ones are means of as many values after each other."""


class Key(NamedTuple):
    """What was scored: on which cohort, who, with how many patients per class, setting, model and label."""

    cohort: str
    who: str
    per_class: int = 0
    setting: str = ""
    model: str = ""
    label: str = ""

    def plain(self) -> "Key":
        """Return the key under which scores are kept: all patients have no budget, and neither arm has settings."""
        if self.who == "full":
            return self._replace(per_class=0, setting="")
        return self._replace(setting="") if self.who == "random" else self


@dataclass(frozen=True)
class Score:
    """The value of every seed, and one standard deviation: over seeds, or with one over its initialisations."""

    seeds: dict[int, float]
    std: float

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return float(np.mean(list(self.seeds.values())))


@dataclass(frozen=True, eq=False)
class Shown:
    """A suite, the rows of the results that belong to it, and its cohorts in order."""

    suite: "Suite"
    rows: pd.DataFrame
    cohorts: tuple[str, ...]

    def called(self, who: str, setting: str) -> str:
        """Return the name of a contestant in tables: the setting alone where all are of one method."""
        if not setting:
            return who_words(who)
        return setting if len(self.suite.methods) == 1 else f"{who_words(who)}, {setting}"

    def spread(self) -> str:
        """Return what standard deviations are over, in words."""
        seeds = self.rows["seed"].nunique()
        return f"{seeds} seeds" if seeds > 1 else "initialisations of one seed"


def show(suite: "Suite", results: pd.DataFrame, cohorts: Iterable[str] = ()) -> Shown:
    """Choose a suite's rows: its methods and the setting that it varies; cohorts in the order given, others last."""
    variants = {text: json.loads(text) for text in sorted(set(results["variant"]))}
    wanted = {suite.vary} if suite.vary else set()
    settings = {
        text: word(found[suite.vary]) if suite.vary else "" for text, found in variants.items() if set(found) == wanted
    }
    rows = results[
        results["method"].isin(list(suite.methods))
        & results["variant"].isin(list(settings))
        & np.isfinite(results["value"])
    ]
    if suite.labels == "several":
        rows = rows[rows["cohort"].isin(list(rows.loc[(rows["label"] != "") & (rows["arm"] != ""), "cohort"]))]
    names = shortened(in_order(set(rows["cohort"]), cohorts))
    rows = rows.assign(setting=rows["variant"].map(settings).astype(object), cohort=rows["cohort"].map(names))
    return Shown(suite, level(rows), tuple(names.values()))


def level(rows: pd.DataFrame) -> pd.DataFrame:
    """Leave out, where methods or settings are compared, the seeds that not all of them have, if they share any.

    Seeds differ in who is tested, and with few positives by more than methods do.
    """
    place = [rows["cohort"], rows["per_class"]]
    who = rows["method"].astype(str) + " " + rows["setting"].astype(str)
    shared = who.groupby([*place, rows["seed"]]).transform("nunique") == who.groupby(place).transform("nunique")
    return rows[shared | ~shared.groupby(place).transform("any")]


def shortened(cohorts: Sequence[str]) -> dict[str, str]:
    """Return what each cohort is called: a file or folder by its own name, if no other has that."""
    names = {cohort: PurePath(cohort).name.removesuffix(".parquet").removesuffix(".csv") for cohort in cohorts}
    taken = list(names.values())
    return {cohort: name if taken.count(name) == 1 else cohort for cohort, name in names.items()}


def in_order(found: Iterable[str], order: Iterable[str]) -> list[str]:
    """Return what was found in the order given, what is not in it last."""
    known = {name: place for place, name in enumerate(dict.fromkeys(order))}
    return sorted(found, key=lambda name: (known.get(name, len(known)), name))


def scores(shown: Shown, measure: str, want: str = "scores") -> dict[Key, Score]:
    """Return a score for each key; of the model that sets were condensed with, or, if `want` is "models", of others."""
    rows = shown.rows
    rows = rows[(rows["measure"] == measure) & (rows["want"] == want) & rows["arm"].isin(list(ARMS))]
    if want == "scores":
        rows = rows.assign(model="")
    several = rows["seed"].nunique() > 1
    who = rows["arm"].map(ARMS).where(rows["arm"] != "condensed", rows["method"])
    found: dict[Key, dict[int, list[tuple[float, float]]]] = {}
    columns = (rows[name] for name in ("cohort", "per_class", "setting", "model", "label", "seed", "value", "std"))
    for name, cohort, count, setting, model, label, seed, value, std in zip(who, *columns, strict=True):
        key = Key(cohort, name, int(count), setting, model, label).plain()
        found.setdefault(key, {}).setdefault(int(seed), []).append((float(value), float(std)))
    result = {}
    for key, by_seed in found.items():
        pairs = {seed: np.array(sorted(by_seed[seed])).mean(axis=0) for seed in sorted(by_seed)}
        means = {seed: float(value) for seed, (value, _) in pairs.items()}
        result[key] = Score(means, _std(means, several, float(next(iter(pairs.values()))[1])))
    return result


def line(rows: pd.DataFrame, points: int = POINTS) -> pd.DataFrame:
    """Return values against x, a column a seed, as means of so many after each other that points are few."""
    wide = rows.pivot_table(index="x", columns="seed", values="value", aggfunc="mean").sort_index()
    each = -(-len(wide) // points)
    if each <= 1:
        return wide
    groups = np.arange(len(wide)) // each
    means = wide.groupby(groups).mean()
    return means.set_index(wide.index.to_series().groupby(groups).max().to_numpy())


def number(values: Iterable[float], several: bool) -> Score:
    """Return values, one a seed, as a score."""
    seeds = dict(enumerate(float(value) for value in values))
    return Score(seeds, _std(seeds, several, float("nan")))


def who_words(who: str) -> str:
    """Return the name of a method or an arm."""
    return WHO.get(who, who)


def word(value: Any) -> str:
    """Return the value of a setting as it is written in a table."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:g}" if plain else str(value)


def _std(seeds: dict[int, float], several: bool, alone: float) -> float:
    if not several:
        return alone
    return float(np.std(list(seeds.values()), ddof=1)) if len(seeds) > 1 else float("nan")

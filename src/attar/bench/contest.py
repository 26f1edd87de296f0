"""Who is compared in a suite, and the cells that come of it: marked, and as a share of what all patients give."""

from dataclasses import dataclass

from attar.bench.compare import marks
from attar.bench.rows import SCORES, Key, Score, Shown, in_order, scores, word
from attar.bench.typeset import NAN, Cell

Pair = tuple[str, str]
"""Method and setting, or an arm and nothing."""

RANDOM: Pair = ("random", "")
FULL: Pair = ("full", "")


@dataclass(frozen=True, eq=False)
class Contest:
    """The scores of one measure on every cohort, and who is compared."""

    shown: Shown
    measure: str
    found: dict[Key, Score]
    methods: list[str]
    settings: list[str]

    @property
    def contestants(self) -> list[Pair]:
        """Pairs of method and setting, random patients first."""
        return [RANDOM, *((name, value) for value in self.settings for name in self.methods)]

    def budgets(self, cohort: str) -> list[int]:
        """Return the patients per class of which a cohort has scores."""
        return sorted({key.per_class for key in self.found if key.cohort == cohort and key.per_class})

    def models(self, cohort: str) -> list[str]:
        """Return the models of which a cohort has scores, in the order of the suite."""
        return in_order({key.model for key in self.found if key.cohort == cohort}, self.shown.suite.models)

    def labels(self, cohort: str) -> list[str]:
        """Return the labels of a cohort that has several."""
        return sorted({key.label for key in self.found if key.cohort == cohort and key.label})

    def score(self, key: Key) -> Score | None:
        """Return what a key has scored."""
        return self.found.get(key.plain())

    def cells(self, place: Key) -> dict[Pair, Cell]:
        """Return the cell of every contestant at a place, marked, and that of all patients."""
        found = {(who, value): self.score(place._replace(who=who, setting=value)) for who, value in self.contestants}
        full = self.score(place._replace(who="full"))
        marked = marks({pair: score.seeds for pair, score in found.items() if score})
        shares = {pair: relative(score, full) if self.measure == "auprc" else NAN for pair, score in found.items()}
        cells = {pair: score_cell(score, marked.get(pair, ""), shares[pair]) for pair, score in found.items()}
        return cells | {FULL: score_cell(full)}


def contest(shown: Shown, measure: str, want: str = "scores") -> Contest:
    """Gather the scores of one measure."""
    found = scores(shown, measure, want)
    methods = in_order({key.who for key in found} - {"full", "random"}, shown.suite.methods)
    values = [word(value) for value in shown.suite.values]
    settings = in_order({key.setting for key in found if key.who in methods}, values)
    return Contest(shown, measure, found, methods, settings)


def relative(score: Score | None, full: Score | None) -> float:
    """Return a score as a share of that of all patients, over the seeds of both."""
    common = sorted(score.seeds.keys() & full.seeds.keys()) if score and full else []
    if not score or not full or not common:
        return NAN
    return sum(score.seeds[seed] for seed in common) / sum(full.seeds[seed] for seed in common)


def score_cell(score: Score | None, mark: str = "", share: float = NAN) -> Cell:
    """Return a cell with a score, or a gap."""
    if score is None:
        return Cell()
    text = f"{score.mean:.3f}" + (f" ± {score.std:.3f}" if score.std == score.std else "")
    remark = f"({100 * share:.1f} %)" if share == share else ""
    return Cell(text, remark, mark, score.mean, score.std, len(score.seeds), share)


def measures(shown: Shown) -> list[str]:
    """Return the scores that there are rows of."""
    return [name for name in SCORES if (shown.rows["measure"] == name).any()]

"""What the pictures of a benchmark have in common: panels by cohort, looks by method, one legend below."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from attar.bench.rows import Score, who_words
from attar.figures import INK, PALETTE, Look, blank, plain
from attar.geometry.looks import MORE_MARKERS

WIDTH = 7.2
"""Inches of the widest picture, whose words are readable when it is shown 720 dots wide."""

ALONE = 5.6
"""Inches of a picture with one panel."""

LETTERS = 9.5
"""Letters of a title that fit into an inch of a panel and its axis."""

ACROSS = 3
"""Panels beside each other."""

STEPS = (1, 2, 2.5, 5, 10)
"""Ticks are at multiples of one of these, times a power of ten."""

LOOKS = {
    "btm": PALETTE["blue"],
    "mtt": PALETTE["orange"],
    "ftd": PALETTE["green"],
    "datm": PALETTE["purple"],
    "mct": Look(INK, "-", "P"),
    "line": PALETTE["purple"]._replace(line="-", marker="X"),
    "convex-line": PALETTE["green"]._replace(line=":", marker="*"),
    "random": PALETTE["grey"],
    "full": Look(INK, "-", "|"),
}
"""Method or arm: how it is drawn in every picture."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure and a caption, which a screen reader says too."""

    figure: Figure
    caption: str


def look(who: str) -> Look:
    """Return how a method or an arm is drawn; those without a look of their own are orange with rarer markers."""
    if who in LOOKS:
        return LOOKS[who]
    return PALETTE["orange"]._replace(line=":", marker=MORE_MARKERS[len(who) % len(MORE_MARKERS)])


def spread_out(titles: Sequence[str], height: float, most: int = ACROSS) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel for each title, each so many inches high."""
    across = min(len(titles), most)
    down = -(-len(titles) // across)
    figure = blank(WIDTH if across > 1 or most == 1 else ALONE, height * down + 0.2)
    grid = figure.subplots(down, across, squeeze=False)
    for axes in grid.flat[len(titles) :]:
        axes.remove()
    panels = list(grid.flat[: len(titles)])
    longest = int(LETTERS * figure.get_figwidth() / across)
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(plain(title, longest), loc="left")
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=STEPS))
        axes.yaxis.set_major_locator(MaxNLocator(6, steps=STEPS))
    return figure, panels


def finish(figure: Figure, panels: Sequence[Axes], words: str) -> None:
    """Write on the vertical axes what they show, and put the legend below."""
    for axes in panels:
        if axes.get_subplotspec().is_first_col():  # type: ignore[union-attr]
            axes.set_ylabel(words)
    legend(figure, panels)


def legend(figure: Figure, panels: Sequence[Axes]) -> None:
    """Put the names of all that is drawn in any panel below them, each once, and make room for them."""
    entries: dict[str, Any] = {}
    for axes in panels:
        for handle, words in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(words, handle)
    most = max(n for n in range(1, 8) if n == 1 or _breadth(list(entries), n) <= figure.get_figwidth())
    down = -(-len(entries) // most)
    across = -(-len(entries) // down)
    figure.set_figheight(figure.get_figheight() + 0.2 * down)
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=across, frameon=False)


def _breadth(words: Sequence[str], across: int) -> float:
    """Return the inches, or a little more, that a legend of so many columns takes."""
    columns = np.array_split(np.array([len(word) for word in words]), min(across, len(words)))
    return float(sum(0.65 + 0.08 * column.max() for column in columns))


def rule(axes: Axes, score: Score | None) -> None:
    """Draw what models trained on all patients reach."""
    if score is not None:
        axes.axhline(score.mean, color=INK, linewidth=1, label=who_words("full"))


def points(axes: Axes, found: dict[float, Score | None], style: Look, words: str) -> None:
    """Draw scores at places x with their standard deviations, joined by the look's line."""
    seen = {x: score for x, score in found.items() if score is not None}
    if seen:
        axes.errorbar(
            list(seen),
            [score.mean for score in seen.values()],
            yerr=[np.nan_to_num(score.std) for score in seen.values()],
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markersize=4.5,
            linewidth=1.4,
            elinewidth=0.9,
            label=words,
        )

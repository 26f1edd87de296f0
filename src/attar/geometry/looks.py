"""How kinds of path and methods are named and drawn in every picture, and how numbers are put into sentences."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attar.figures import PALETTE, Look

KINDS = {
    "bezier": ("Bézier curve", "blue"),
    "checkpoints": ("training", "orange"),
    "convexified": ("convexified path", "green"),
    "line": ("straight line", "purple"),
}
"""Kind of path: words, row of the palette."""

MORE_MARKERS = ("P", "*", "X", "p", "h")


def in_order(seen: dict[str, Any]) -> dict[str, Any]:
    """Return what is known of kinds of path in the order of `KINDS`, kinds that are not there last."""
    order = list(KINDS)
    places = {name: order.index(kind) if (kind := name.partition("-")[0]) in order else len(order) for name in seen}
    return {name: seen[name] for name in sorted(seen, key=lambda name: places[name])}


def path_words(name: str) -> str:
    """Return a path's name in words."""
    kind, _, optimiser = name.partition("-")
    words = KINDS.get(kind, (kind, ""))[0]
    if kind == "checkpoints":
        return f"{(optimiser or 'sgd').upper()} {words}"
    return f"{words} ({optimiser.upper()})" if optimiser else words


def path_look(name: str) -> Look:
    """Return how a path is drawn."""
    kind, _, optimiser = name.partition("-")
    return PALETTE["grey" if optimiser else KINDS.get(kind, (kind, "grey"))[1]]


def method_words(name: str, result: dict[str, Any]) -> str:
    """Return a method's name, and whether it is the run's."""
    return f"{name} (this run)" if name == result["method"] and len(result["bounds"]) > 1 else name


def method_look(place: int) -> Look:
    """Return how the method at a place of the list is drawn; beyond the palette its colours come with other markers."""
    looks = list(PALETTE.values())
    look = looks[place % len(looks)]
    return look if place < len(looks) else look._replace(line="-", marker=MORE_MARKERS[place % len(MORE_MARKERS)])


def trace(axes: Axes, line: Any, look: Look, words: str, place: int, marks: Sequence[int] = ()) -> None:
    """Draw a line [2, points] with markers at some points; thinner than those before it, to be seen on top of them."""
    axes.plot(
        *line,
        color=look.colour,
        linestyle=look.line,
        linewidth=2.4 - 0.35 * min(place, 3),
        marker=look.marker if len(marks) else "",
        markevery=list(marks) or None,
        markersize=4.5,
        label=words,
    )


def legend(figure: Figure) -> None:
    """Put the names of the lines below the axes, and make room for them."""
    labels = len(figure.axes[0].get_legend_handles_labels()[1])
    figure.set_figheight(figure.get_figheight() + 0.22 * -(-labels // 3))
    figure.legend(loc="outside lower center", ncols=3, frameon=False)


def listed(parts: list[str]) -> str:
    """Return parts as a list in a sentence."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def in_words(size: int) -> str:
    """Return bytes as people say them."""
    unit, name = next(
        pair for pair in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")) if size >= pair[0] or pair[0] == 1
    )
    return f"{size / unit:.3g} {name}"

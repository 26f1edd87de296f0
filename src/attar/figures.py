"""Pictures of what a run found: one house style, as PNG for papers and as SVG for pages in light and in dark."""

import hashlib
import io
import re
import warnings
from typing import Any, NamedTuple
from xml.etree import ElementTree

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text

INK, FAINT, RULE = "#1d2329", "#59636e", "#dde1e6"
"""Colours of words and axes, of what stands back, and of grid lines."""


class Look(NamedTuple):
    """How a line is told from the others: by colour, by dashes and by marker."""

    colour: str
    line: Any
    marker: str


PALETTE = {
    "blue": Look("#0072b2", "-", "o"),
    "orange": Look("#c85000", "--", "s"),
    "green": Look("#00805d", "-.", "^"),
    "purple": Look("#84306f", ":", "D"),
    "grey": Look("#6b747d", (0, (1, 1.5)), "v"),
}
"""Looks that differ for colour-blind readers and in grey; take them in this order."""

VARIABLES = {INK: "ink", FAINT: "faint", RULE: "rule"} | {look.colour: name for name, look in PALETTE.items()}
"""Colour: the CSS variable that a page may set in its stead."""

FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"

STYLE: Any = {
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "axes.titlesize": 9.5,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "grid.color": RULE,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "svg.fonttype": "none",
    "svg.hashsalt": "attar",
}

SVG, LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"

ARMS = {
    "random": ("random real patients", PALETTE["grey"].colour, "s"),
    "condensed": ("condensed patients", PALETTE["blue"].colour, "o"),
    "full": ("all real patients", PALETTE["orange"].colour, "|"),
}
"""Arm: words, colour, marker; told apart by shape as well as by colour."""


class Sheet(Figure):
    """A figure whose axes are made in the house style."""

    def add_subplot(self, *place: Any, **options: Any) -> Any:
        """Add axes in the house style; `subplots` comes here too."""
        with matplotlib.rc_context(STYLE):
            return super().add_subplot(*place, **options)


def blank(width: float, height: float, by_hand: bool = False) -> Figure:
    """Return an empty figure of so many inches; its axes have no top and right spine and a light grid.

    Axes are laid out so that nothing overlaps; `by_hand` leaves that to the caller and draws in half the time.
    """
    with matplotlib.rc_context(STYLE):
        figure = Sheet(figsize=(width, height), layout=None if by_hand else "constrained")
        FigureCanvasAgg(figure)
    return figure


def plain(text: object, longest: int = 60) -> str:
    """Return a name from the data as text that matplotlib shows as it is: no formula, no control character."""
    shown = "".join(letter if letter.isprintable() else " " for letter in str(text))
    shown = shown if len(shown) <= longest else shown[: longest - 1] + "…"
    return shown.replace("$", r"\$")


def png(figure: Figure) -> bytes:
    """Return the figure as PNG on white, 150 dots an inch."""
    return _saved(figure, format="png", dpi=150, facecolor="white")


def svg(figure: Figure, alt: str = "") -> bytes:
    """Return the figure as SVG that can stand alone or inside a page: the same bytes whenever it is drawn alike.

    Words stay words, the background is transparent, colours are CSS variables (`VARIABLES`) with the light ones to fall
    back on, and ids begin with a digest of the picture. `alt` says to a screen reader what is seen.
    """
    drawn = _saved(figure, format="svg", facecolor="none", metadata={"Date": None, "Creator": None})
    root = ElementTree.fromstring(re.sub(rb"<!DOCTYPE[^>]*>", b"", drawn, count=1))
    for element in list(root):
        if element.tag == f"{{{SVG}}}metadata" or element.find(f"{{{SVG}}}style") is not None:
            root.remove(element)
    prefix = "a" + hashlib.sha256(drawn + alt.encode()).hexdigest()[:8]
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{SVG}}}")
        element.attrib = {
            key.removeprefix(f"{{{LINK}}}"): _rewritten(key.removeprefix(f"{{{LINK}}}"), value, prefix)
            for key, value in element.attrib.items()
            if not (key == "id" and element.tag == "g")
        }
    root.attrib |= {"xmlns": SVG, "role": "img", "style": "stroke-linejoin: round; stroke-linecap: butt"}
    if alt:
        title = ElementTree.Element("title")
        title.text = "".join(letter if letter.isprintable() else " " for letter in alt)
        root.insert(0, title)
    return ElementTree.tostring(root, encoding="utf-8") + b"\n"


def models(results: dict[str, Any]) -> bytes:
    """Draw a row a model: its AUPRC after training on all real, random and condensed patients (PNG)."""
    figure = blank(7.2, 1.4 + 0.36 * len(results["models"]))
    draw_models(figure, results)
    return png(figure)


def draw_models(figure: Figure, results: dict[str, Any]) -> None:
    """Draw the picture of `models` into a figure."""
    names = list(results["models"])
    axes = figure.subplots()
    places = range(len(names))[::-1]
    for arm, (words, colour, marker) in ARMS.items():
        scores = [results["models"][name][arm]["auprc"] for name in names]
        axes.errorbar(
            [score["mean"] for score in scores],
            list(places),
            xerr=[score["std"] for score in scores],
            fmt=marker,
            color=colour,
            label=words,
            markersize=13 if marker == "|" else 6,
            markeredgewidth=2.5 if marker == "|" else 1,
            elinewidth=1,
            zorder=3 if arm == "condensed" else 2,
        )
    axes.set_yticks(list(places), names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_xlabel("AUPRC on real test patients (bars: one standard deviation)")
    axes.set_title(f"{results['method']}, {results['per_class']} per class", loc="left")
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)


def _rewritten(key: str, value: str, prefix: str) -> str:
    if key == "id":
        return f"{prefix}-{value}"
    if key in ("href", "clip-path"):
        return value.replace("#", f"#{prefix}-")
    if key == "style":
        value = re.sub(r"'DejaVu Sans'[^;]*", FONTS, value)
        for colour, name in VARIABLES.items():
            value = value.replace(colour, f"var(--{name}, {colour})")
    return value


def _saved(figure: Figure, **options: Any) -> bytes:
    for part in figure.findobj(lambda artist: isinstance(artist, Legend | Text)):
        if isinstance(part, Legend):
            part.set_frame_on(False)
        elif isinstance(part, Text) and part.get_color() == "black":
            part.set_color(INK)
    buffer = io.BytesIO()
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(buffer, **options)
    return buffer.getvalue()

"""Pictures of what a run found."""

import io
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

ARMS = {
    "random": ("random real patients", "#b0b0b0", "s"),
    "condensed": ("condensed patients", "#0072b2", "o"),
    "full": ("all real patients", "#d55e00", "|"),
}
"""Arm: words, colour, marker; told apart by shape as well as by colour."""


def models(results: dict[str, Any]) -> bytes:
    """Draw a row a model: its AUPRC after training on all real, random and condensed patients (PNG)."""
    names = list(results["models"])
    figure = Figure(figsize=(7.2, 1.4 + 0.36 * len(names)), layout="constrained")
    FigureCanvasAgg(figure)
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
    axes.grid(axis="x", color="#e0e0e0")
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()

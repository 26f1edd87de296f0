"""The report's own pictures, drawn from its facts alone: small ones that stand side by side, or below each other."""

from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from attar.figures import ARMS, FAINT, INK, PALETTE, RULE, blank, draw_models, plain, svg
from attar.report.source import Facts
from attar.store import Run

SHOWN, MORE = 12, 24
"""Columns that are drawn at once, and further ones that are drawn folded."""

BLUE, ORANGE, GREY = (PALETTE[name] for name in ("blue", "orange", "grey"))


def utility(run: Run, facts: Facts) -> dict[str, str]:
    """Draw AUPRC and AUROC, a row an arm, with intervals."""
    said = "of each arm with its 95 % interval; the numbers are in the table."
    return {metric: _text(arms(facts["arms"], metric), f"{metric.upper()} {said}") for metric in ("auprc", "auroc")}


def arms(rows: list[Facts], metric: str) -> Figure:
    """Draw a mark an arm, its interval, and the full cohort as a line through all."""
    figure = blank(3.7, 0.75 + 0.3 * len(rows))
    axes, places = figure.subplots(), range(len(rows))[::-1]
    full = next(row[metric]["mean"] for row in rows if row["arm"] == "full")
    axes.axvline(full, color=ORANGE.colour, linestyle=ORANGE.line, linewidth=1)
    for place, row in zip(places, rows, strict=True):
        _, colour, marker = ARMS.get(row["arm"], ("", PALETTE["purple"].colour, "D"))
        mean, low, high = (row[metric][key] for key in ("mean", "low", "high"))
        if low is not None:
            axes.plot([low, high], [place, place], color=colour, linewidth=2, solid_capstyle="butt")
        size = 13 if marker == "|" else 6
        axes.plot([mean], [place], marker=marker, color=colour, markersize=size, markeredgewidth=2)
    axes.set_yticks(list(places), [row["words"] for row in rows])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_title(metric.upper(), loc="left")
    axes.xaxis.set_major_locator(MaxNLocator(4))
    _bare(axes)
    return figure


def models(run: Run, facts: Facts) -> dict[str, str]:
    """Draw a row a model."""
    results = {**facts, "models": {row["model"]: row["arms"] for row in facts["models"]}}
    figure = blank(6.2, 1.4 + 0.34 * len(facts["models"]))
    draw_models(figure, results)
    return {"models": _text(figure, "AUPRC of each model by what it was trained on; the numbers are in the table.")}


def course(run: Run, facts: Facts) -> dict[str, str]:
    """Draw losses, step size and validation AUPRC against iterations."""
    kept, drawn = facts["kept"], {}
    loss = line(facts["loss"], "matching loss", band=True)
    step = line(facts["step_size"], "student's step size")
    score = line(facts["val_auprc"], "validation AUPRC")
    if kept["val_auprc"] is not None:
        score.axes[0].plot([kept["iteration"]], [kept["val_auprc"]], marker="o", color=ORANGE.colour, linestyle="")
    if facts["staying"]:
        disagreement = line(facts["disagreement"], "disagreement with teachers", band=True)
        ends = f"from {facts['first_disagreement']:g} at first to {facts['last_disagreement']:g} at last"
        drawn["disagreement"] = _text(disagreement, f"Disagreement with the teachers, {ends}.")
    return drawn | {
        "loss": _text(loss, f"Matching loss, from {facts['first_loss']:g} at first to {facts['last_loss']:g} at last."),
        "step_size": _text(step, "The student's learned step size against iterations."),
        "val_auprc": _text(score, f"Validation AUPRC against iterations; kept is iteration {kept['iteration']}."),
    }


def line(rows: list[Facts], title: str, band: bool = False) -> Figure:
    """Draw one quantity against iterations, with the middle eight tenths of each window behind it."""
    figure = blank(3.1, 2.0)
    axes = figure.subplots()
    x = [row["iteration"] for row in rows]
    if band:
        low, high = [row["low"] for row in rows], [row["high"] for row in rows]
        axes.fill_between(x, low, high, color=BLUE.colour, alpha=0.2, linewidth=0)
    axes.plot(x, [row["mean"] for row in rows], color=BLUE.colour, linewidth=1.4)
    axes.set_title(title, loc="left")
    axes.set_xlabel("iteration")
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    return figure


def patients(run: Run, facts: Facts) -> dict[str, str]:
    """Draw columns and channels, real beside condensed; what is named `more-...` is drawn folded."""
    drawn: dict[str, str] = {}
    for number, channel in enumerate(facts.get("channels", [])):
        drawn[f"channel-{number}"] = _text(hours(channel), f"{channel['name']} by hour, real and condensed.")
    columns = [column for column in facts["columns"] if "withheld" not in column]
    for number, column in enumerate(columns[: SHOWN + MORE]):
        figure = bars(column) if "edges" in column else dots(column)
        place = "column" if number < SHOWN else "more"
        drawn[f"{place}-{number}"] = _text(figure, f"{column['name']}, real and condensed patients.")
    return drawn


def bars(column: Facts) -> Figure:
    """Draw a number's distribution: real patients as an area, condensed ones as a line."""
    figure = small(plain(column["name"], 30), 0.12)
    axes, edges = figure.axes[0], column["edges"]
    widths = [high - low for low, high in pairwise(edges)]
    real, ours = ([part / width for part, width in zip(column[key], widths, strict=True)] for key in _BOTH)
    axes.stairs(real, edges, fill=True, color=RULE)
    axes.stairs(real, edges, color=FAINT, linewidth=0.8)
    axes.stairs(ours, edges, color=BLUE.colour, linewidth=1.6)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_ylim(0, 1.08 * max(*real, *ours, 1e-12))
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.grid(visible=False)
    return figure


def dots(column: Facts) -> Figure:
    """Draw the share of each value: a square for real patients, a disc for condensed ones."""
    names = [plain(name, 21) for name in column["values"]]
    figure = small(plain(column["name"], 30), 1.25, 0.45 + 0.18 * max(len(names), 4))
    axes, places = figure.axes[0], list(range(len(names)))[::-1]
    for place, real, ours in zip(places, column["real"], column["condensed"], strict=True):
        if real is not None:
            axes.plot([real, ours], [place, place], color=RULE, linewidth=2)
            axes.plot([real], [place], marker="s", markersize=5.5, color=FAINT, markerfacecolor=RULE)
        axes.plot([ours], [place], marker="o", markersize=5, color=BLUE.colour)
    axes.set_yticks(places, names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_xlim(-0.04, 1.04)
    axes.set_xticks([0, 0.5, 1])
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    _bare(axes)
    return figure


def hours(channel: Facts) -> Figure:
    """Draw a channel's mean by hour: real patients as a broad grey line, condensed ones as a thin blue one."""
    unit = f" ({channel['unit']})" if channel["unit"] else ""
    figure = small(plain(channel["name"] + unit, 30), 0.42)
    axes = figure.axes[0]
    axes.plot(channel["real"], color=GREY.colour, linewidth=3, alpha=0.6)
    axes.plot(channel["condensed"], color=BLUE.colour, linewidth=1.5)
    axes.set_xlabel("hour")
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    return figure


def small(title: str, left: float, height: float = 1.45) -> Figure:
    """Return a small figure with one panel, so many inches from the left; laid out by hand, as there are many."""
    width, below, above = 2.4, 0.36, 0.24
    figure = blank(width, height, by_hand=True)
    axes = figure.add_subplot()
    axes.set_position((left / width, below / height, 1 - (left + 0.12) / width, 1 - (below + above) / height))
    axes.set_title(title, loc="left", fontsize=8.5, x=-(left - 0.04) / (width - left - 0.12), color=INK)
    axes.tick_params(labelsize=7.5)
    axes.xaxis.label.set_fontsize(7.5)
    return figure


_BOTH = ("real", "condensed")


def _bare(axes: Any) -> None:
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _text(figure: Figure, alt: str) -> str:
    return svg(figure, alt).decode()

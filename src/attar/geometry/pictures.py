"""The pictures of a run's geometry, each with the words that say what is seen; a new one is a row in `PICTURES`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from attar.figures import FAINT, INK, PALETTE, blank
from attar.geometry.looks import (
    in_order,
    in_words,
    legend,
    listed,
    method_look,
    method_words,
    path_look,
    path_words,
    trace,
)
from attar.geometry.spectrum import MOST

WIDTH = 5.0
"""Inches: words stay readable when the picture is shown as wide as a phone."""

MARKED = (1, 2, 3, 4, 5, 6, 7, 9, 12, 16, 22, 32, 48, 72, 110, 160, 240, 360)
"""Numbers of directions at which the lines of spectra take turns to be marked."""

TENSORS = 7
"""Parameter tensors that have bars of their own; those that matter less share one."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, its name and title, a caption with the run's numbers, and what a screen reader says."""

    name: str
    title: str
    caption: str
    alt: str
    figure: Figure

    def words(self) -> dict[str, str]:
        """Return all but the figure."""
        return {"name": self.name, "title": self.title, "caption": self.caption, "alt": self.alt}


def draw(result: dict[str, Any]) -> list[Picture]:
    """Draw every picture of the numbers in geometry.json."""
    return [picture(result) for picture in PICTURES]


def paths(result: dict[str, Any]) -> Picture:
    """Draw the paths of one teacher in the plane of their two strongest directions."""
    plane = result["plane"]
    figure = blank(WIDTH, 3.1)
    axes = figure.subplots()
    seen = in_order(plane["paths"])
    for place, (name, points) in enumerate(seen.items()):
        epochs = range(len(points)) if name.startswith("checkpoints") else ()
        trace(axes, np.transpose(points), path_look(name), path_words(name), place, epochs)
    start, end = np.array(next(iter(seen.values())))[[0, -1]]
    for words, point in (("start", start), ("end", end)):
        axes.plot(*point, "o", color=INK, markersize=6, zorder=4)
        axes.annotate(words, point, (0, 7), textcoords="offset points", ha="center", color=INK)
    share = [f"{100 * part:.0f} %" for part in (*plane["share"], 0.0)]
    axes.set_xlabel(f"strongest direction ({share[0]} of the spread)")
    axes.set_ylabel(f"second direction ({share[1]})")
    axes.margins(0.08, 0.16)
    legend(figure)
    bend = result["curves"].get("chord_distance")
    tail = ""
    if bend:
        chord = result["curves"]["chord"]["mean"]
        tail = f" The curves leave their chords, {chord:.2g} long in the mean, by at most {bend['greatest']:.2g}."
    if distance := result["curves"].get("teacher_distance"):
        tail += f" The teachers' own trainings leave them by {distance['mean']:.2g} in the mean."
    names = listed([path_words(name) for name in seen])
    return Picture(
        "paths",
        "From a teacher's first parameters to its last",
        f"The first teacher's {names} between the same ends, in the plane that shows most of them. "
        f"The two axes have scales of their own.{tail}",
        f"Line chart of {names}, which start and end at the same two points.",
        figure,
    )


def along(result: dict[str, Any]) -> Picture:
    """Draw the training loss along each kind of path."""
    seen, times = in_order(result["along"]["loss"]), result["along"]["t"]
    figure = blank(WIDTH, 3.0)
    axes = figure.subplots()
    for place, (name, losses) in enumerate(seen.items()):
        trace(axes, (times, losses), path_look(name), path_words(name), place)
    axes.set_xlabel(f"share of the training, t (1 is epoch {result['along']['epochs']})")
    axes.set_ylabel("training loss (cross-entropy)")
    legend(figure)
    means = {path_words(name): np.mean(losses) for name, losses in seen.items()}
    numbers = listed([f"{mean:.3f} along the {words}" for words, mean in means.items()])
    return Picture(
        "along",
        "The loss on the way",
        f"Training loss on each path, mean of {result['along']['teachers']} teachers. Mean over the way: {numbers}.",
        f"Line chart of the training loss against the share of the training: {numbers} in the mean.",
        figure,
    )


def matching(result: dict[str, Any]) -> Picture:
    """Draw the matching loss against iterations for every method."""
    figure = blank(WIDTH, 3.0)
    axes = figure.subplots()
    for place, (name, curve) in enumerate(result["matching"].items()):
        line, marks = (curve["iteration"], curve["loss"]), range(2 * place, len(curve["loss"]), 12)
        trace(axes, line, method_look(place), method_words(name, result), place, marks)
    axes.set_ylim(bottom=0.0)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("iteration of the condensation (logarithmic)")
    axes.set_ylabel("matching loss (1: no progress)")
    legend(figure)
    last = {
        name: np.mean(curve["loss"][-max(1, len(curve["loss"]) // 10) :]) for name, curve in result["matching"].items()
    }
    numbers = listed([f"{value:.2f} for {name}" for name, value in last.items()])
    each = " Each method's set was condensed under its own paths." if len(last) > 1 else ""
    return Picture(
        "matching",
        "How well students follow, as the set is condensed",
        "Share of a segment's squared length, in what the recipe compares, that still lies between the student's end "
        f"and the segment's: {numbers} over the last tenth of the iterations.{each}",
        f"Line chart of the matching loss against iterations, ending at {numbers}.",
        figure,
    )


def spectra(result: dict[str, Any]) -> Picture:
    """Draw the cumulative energy of the displacements of each kind of path."""
    figure = blank(WIDTH, 3.0)
    axes = figure.subplots()
    seen = in_order(result["spectrum"])
    for place, (name, facts) in enumerate(seen.items()):
        share = 100 * np.array(facts["cumulative"])
        marks = [n - 1 for n in MARKED if n <= len(share)][place::3]
        trace(axes, (np.arange(1, len(share) + 1), share), path_look(name), path_words(name), place, marks)
    axes.axhline(100 * MOST, color=FAINT, linewidth=0.8)
    axes.annotate("95 %", (1, 100 * MOST), (2, 2), textcoords="offset points", color=FAINT)
    axes.set_xscale("log")
    axes.set_xticks(
        ticks := [n for n in (1, 2, 5, 10, 20, 50, 100, 200, 400) if n <= len(share)], [str(n) for n in ticks]
    )
    axes.minorticks_off()
    axes.set_ylim(0, 104)
    axes.set_xlabel("directions, strongest first")
    axes.set_ylabel("share of the energy (%)")
    legend(figure)
    ranks = listed([f"{facts['rank_by_energy']} for the {path_words(name)}" for name, facts in seen.items()])
    entropy = listed([f"{facts['rank_by_entropy']:.1f}" for facts in seen.values()])
    segments = result["segments"]
    return Picture(
        "spectrum",
        "How many directions the teachers ask for",
        f"Directions that hold 95 % of the energy of {segments['teachers'] * segments['each']} displacements of "
        f"{segments['teachers']} teachers: {ranks}; effective ranks by entropy, in the same order, {entropy}.",
        f"Line chart of the cumulative energy against the number of directions; 95 % is reached at {ranks}.",
        figure,
    )


def bounds(result: dict[str, Any]) -> Picture:
    """Draw, for every sampled segment of every method, the matching loss against the bound below it."""
    figure = blank(WIDTH, 3.6)
    axes = figure.subplots()
    highest = 0.0
    for place, (name, facts) in enumerate(result["bounds"].items()):
        look = method_look(place)
        hollow = "none" if place else look.colour
        axes.scatter(
            facts["bound"],
            facts["loss"],
            s=18,
            marker=look.marker,
            facecolors=hollow,
            edgecolors=look.colour,
            linewidths=1,
            alpha=0.8,
            label=method_words(name, result),
        )
        highest = max(highest, *facts["bound"])
    axes.axline((0, 0), slope=1, color=FAINT, linewidth=1)
    axes.annotate("loss = bound", (highest / 4, highest / 4), (10, -8), textcoords="offset points", color=FAINT)
    axes.set_xlabel("bound: share of the segment out of the student's reach")
    axes.set_ylabel("matching loss of the segment")
    axes.set_xlim(left=0.0)
    axes.set_ylim(bottom=0.0)
    legend(figure)
    numbers = listed(
        [
            f"{facts['mean_loss']:.2f} over {facts['mean_bound']:.2f} for {name}"
            for name, facts in result["bounds"].items()
        ]
    )
    below = sum(facts["violations"] for facts in result["bounds"].values())
    none = "No segment lies below its bound." if below == 0 else f"{below} segments lie below their bounds."
    rounds = {facts["iterations"] for facts in result["bounds"].values()}
    if len(rounds) > 1:
        none += f" The sets had {min(rounds)} to {max(rounds)} iterations, the run's own the most."
    return Picture(
        "bounds",
        "What students missed, and what they could not reach",
        "Each mark is a segment: its matching loss against the part of it outside the span of the student's gradients, "
        f"out of reach for any combination of them. Mean loss over mean bound: {numbers}. {none}",
        f"Scatter chart of matching loss against its lower bound; mean loss over mean bound is {numbers}.",
        figure,
    )


def residual(result: dict[str, Any]) -> Picture:
    """Draw, by parameter tensor, what the run's segments ask for and what its students cannot reach."""
    energies = result["residual_by_tensor"][result["method"]]
    order = sorted(energies["asked"], key=lambda name: -energies["asked"][name])
    kept, rest = (order, []) if len(order) <= TENSORS + 1 else (order[:TENSORS], order[TENSORS:])
    figure = blank(WIDTH, 1.3 + 0.36 * (len(kept) + bool(rest)))
    axes = figure.subplots()
    labels = kept + ([f"{len(rest)} others"] if rest else [])
    places = np.arange(len(labels))[::-1]
    shown = (
        ("asked", 0.2, "blue", "", "asked of the student"),
        ("unreachable", -0.2, "orange", "////", "out of its reach"),
    )
    for part, shift, colour, hatch, words in shown:
        values = [100 * energies[part][name] for name in kept]
        values += [100 * sum(energies[part][name] for name in rest)] if rest else []
        look = PALETTE[colour]
        axes.barh(
            places + shift,
            values,
            0.36,
            facecolor="none" if hatch else look.colour,
            edgecolor=look.colour,
            hatch=hatch,
            label=words,
        )
    axes.set_yticks(places, labels)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("share of the segments' squared length (%)")
    axes.legend(loc="lower right", frameon=False)
    most = max(energies["unreachable"], key=lambda name: energies["unreachable"][name])
    whole = sum(energies["unreachable"].values())
    part = 100 * energies["unreachable"][most] / max(whole, 1e-12)
    dragged = [name for name in kept if energies["unreachable"][name] > energies["asked"][name]]
    tail = f" What reaches the others best moves {listed(dragged)} the wrong way." if dragged else ""
    return Picture(
        "residual",
        "Where the rest lies",
        f"Of what segments ask for, {100 * whole:.0f} % is out of the students' reach; {part:.0f} % of that lies in "
        f"{most}, which holds {100 * energies['asked'][most]:.0f} % of what is asked.{tail}",
        f"Bar chart by parameter tensor of what is asked and what is out of reach, of which {part:.0f} % in {most}.",
        figure,
    )


def storage(result: dict[str, Any]) -> Picture:
    """Draw the bytes of each way to store the teachers' paths."""
    sizes = result["storage"]
    figure = blank(WIDTH, 1.0 + 0.32 * len(sizes))
    axes = figure.subplots()
    places = np.arange(len(sizes))[::-1]
    for place, (name, size) in zip(places, sizes.items(), strict=True):
        mine = name == "this run"
        look = PALETTE["blue"]
        axes.barh(place, size / 1e6, 0.6, facecolor=look.colour if mine else "none", edgecolor=look.colour)
        axes.annotate(in_words(size), (size / 1e6, place), (4, 0), textcoords="offset points", va="center")
    axes.set_yticks(places, list(sizes))
    axes.grid(visible=False, axis="y")
    axes.set_xlim(right=1.25 * max(sizes.values()) / 1e6)
    axes.set_xlabel("megabytes for all teachers")
    times = sizes["every epoch"] / sizes["this run"]
    return Picture(
        "storage",
        "What the teachers take on disk",
        f"Parameters at every epoch of all teachers would take {in_words(sizes['every epoch'])}; this run stores "
        f"{in_words(sizes['this run'])}, {times:.1f} times less.",
        f"Bar chart of stored bytes: {listed([f'{name} {in_words(size)}' for name, size in sizes.items()])}.",
        figure,
    )


PICTURES: tuple[Callable[[dict[str, Any]], Picture], ...] = (
    paths,
    along,
    matching,
    spectra,
    bounds,
    residual,
    storage,
)

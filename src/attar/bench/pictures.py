"""The pictures of a suite, each with a sentence that says what is seen."""

import numpy as np
from matplotlib.figure import Figure

from attar.bench import curves, tables
from attar.bench.contest import FULL, RANDOM, Contest, contest
from attar.bench.panels import Picture, finish, legend, look, points, rule, spread_out
from attar.bench.rows import POINTS, SETTINGS, Key, Shown, line, who_words
from attar.figures import FAINT, PALETTE, RULE, Look, blank, plain
from attar.geometry.looks import in_words, path_look, path_words, trace

CUT = 2.0
"""Matching losses above this are not shown: a student that goes astray has no bound."""

MANY = 13
"""Labels or models that want the whole width."""

MOST = 95
"""Per cent of the energy at which directions are counted."""


def budgets(shown: Shown) -> Picture | None:
    """Draw AUPRC against patients per class, a line a method, all patients as a rule."""
    one = contest(shown, "auprc")
    cohorts = [cohort for cohort in shown.cohorts if one.budgets(cohort)]
    if not cohorts:
        return None
    figure, panels = spread_out(cohorts, 2.6)
    pairs = one.contestants
    for cohort, axes in zip(cohorts, panels, strict=True):
        counts = one.budgets(cohort)
        rule(axes, one.score(Key(cohort, "full")))
        for place, (who, setting) in enumerate(pairs):
            found = {count: one.score(Key(cohort, who, count, setting)) for count in counts}
            aside = 1.025 ** (place - len(pairs) / 2)
            points(axes, {aside * count: score for count, score in found.items()}, look(who), who_words(who))
        axes.set_xscale("log")
        axes.set_xlim(counts[0] / 1.3, counts[-1] * 1.3)
        axes.set_xticks(counts, [str(count) for count in counts])
        axes.minorticks_off()
        axes.set_xlabel("patients per class")
    finish(figure, panels, "AUPRC on real test patients")
    return Picture(
        figure,
        "AUPRC on real test patients against the patients per class that models were trained on, a line a method; the "
        f"rule is what models trained on all patients reach. Bars: one standard deviation over {shown.spread()}.",
    )


def ablation(shown: Shown) -> Picture | None:
    """Draw AUPRC against what is varied, a setting or else the method, a line for each budget."""
    one = contest(shown, "auprc")
    cohorts = [cohort for cohort in shown.cohorts if one.budgets(cohort)]
    if not cohorts:
        return None
    steps = [pair for pair in one.contestants if pair != RANDOM]
    names = [shown.called(*pair) for pair in steps]
    varied = SETTINGS.get(shown.suite.vary, shown.suite.vary) or "method"
    numeric = all(_number(name) is not None for name in names)
    places = [_number(name) or 0.0 for name in names] if numeric else [float(at) for at in range(len(names))]
    width = max(places) - min(places) or 1.0
    counts = sorted({count for cohort in cohorts for count in one.budgets(cohort)})
    figure, panels = spread_out(cohorts, 2.6)
    for cohort, axes in zip(cohorts, panels, strict=True):
        rule(axes, one.score(Key(cohort, "full")))
        for order, count in enumerate(counts):
            aside = 0.05 * width * (order - (len(counts) - 1) / 2)
            found = {
                at + aside: one.score(Key(cohort, who, count, setting))
                for at, (who, setting) in zip(places, steps, strict=True)
            }
            style = list(PALETTE.values())[order % len(PALETTE)]
            points(axes, found, style if numeric else style._replace(line=""), f"{count} per class")
        axes.set_xticks(places, [plain(name, 16) for name in names])
        axes.set_xlim(min(places) - 0.2 * width, max(places) + 0.2 * width)
        axes.set_xlabel(varied)
    finish(figure, panels, "AUPRC on real test patients")
    return Picture(
        figure,
        f"AUPRC on real test patients against the {varied}; the rule is what models trained on all patients reach. "
        f"Bars: one standard deviation over {shown.spread()}.",
    )


def labels(shown: Shown) -> Picture | None:
    """Draw AUPRC label by label at the largest budget."""
    one = contest(shown, "auprc")
    cohorts = [cohort for cohort in shown.cohorts if one.labels(cohort) and one.budgets(cohort)]
    at = {cohort: one.budgets(cohort)[-1] for cohort in cohorts}
    rows = {
        f"{cohort}, {at[cohort]} per class": {
            name: Key(cohort, "", at[cohort], label=name) for name in one.labels(cohort)
        }
        for cohort in cohorts
    }
    return _dots(one, rows, {}, "label")


def models(shown: Shown) -> Picture | None:
    """Draw AUPRC model by model at the largest budget, behind it a band on the model that sets were condensed with."""
    one = contest(shown, "auprc", "models")
    rows, own = {}, {}
    for cohort in shown.cohorts:
        if counts := one.budgets(cohort):
            title = f"{cohort}, {counts[-1]} per class"
            rows[title] = {name: Key(cohort, "", counts[-1], model=name) for name in one.models(cohort)}
            own[title] = tables.condensed_with(shown, cohort)
    return _dots(one, rows, own, "model")


def storage(shown: Shown) -> Picture | None:
    """Draw the bytes of every method as bars on a logarithmic axis, cohort by cohort."""
    sizes = tables.stored(shown)
    if not sizes:
        return None
    bars = sum(len(by_name) for by_name in sizes.values())
    figure = blank(5.6, 0.7 + 0.24 * bars + 0.36 * len(sizes))
    axes = figure.subplots()
    place, ticks = 0.0, {}
    for cohort, by_name in sizes.items():
        axes.text(0.01, place + 0.9, plain(cohort, 40), transform=axes.get_yaxis_transform(), va="center")
        for name, size in by_name.items():
            style = PALETTE["grey"] if name == tables.EVERY else look(name)
            axes.barh(place, size / 1e6, 0.7, facecolor=style.colour)
            axes.annotate(in_words(round(size)), (size / 1e6, place), (4, 0), textcoords="offset points", va="center")
            ticks[place] = who_words(name)
            place -= 1
        place -= 1.2
    everything = [size / 1e6 for by_name in sizes.values() for size in by_name.values()]
    axes.set_xscale("log")
    axes.set_xlim(min(everything) / 3, max(everything) * 4)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_ylim(place + 1.6, 1.5)
    axes.set_yticks(list(ticks), list(ticks.values()))
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("megabytes for all teachers (logarithmic)")
    return Picture(figure, "Bytes on disk of the teachers and paths of every method, on a logarithmic axis.")


def curve(shown: Shown) -> Picture | None:
    """Draw the matching loss against iterations, a line a method."""
    found = curves.matched(shown)
    styles = {name: (look(name), who_words(name)) for name in shown.suite.methods}
    drawn = _lines(found, styles, "iteration of the condensation", "matching loss (1: no progress)")
    if drawn is None:
        return None
    cut = False
    for axes in drawn.axes:
        highest = axes.dataLim.y1
        axes.set_ylim(0, min(CUT, 1.05 * highest))
        cut |= highest > CUT
    beyond = f" Losses above {CUT:g} are cut off." if cut else ""
    return Picture(
        drawn,
        "Matching loss against iterations of the condensation: the share of a segment's squared length that still lies "
        f"between the student's end and the segment's.{_band(shown)}{beyond}",
    )


def profile(shown: Shown) -> Picture | None:
    """Draw the training loss along each kind of path."""
    found = curves.walked(shown)
    drawn = _lines(found, _kinds(found), "share of the training, t", "training loss (cross-entropy)")
    said = f"Training loss along each kind of path, mean over teachers.{_band(shown)}"
    return Picture(drawn, said) if drawn else None


def spectrum(shown: Shown) -> Picture | None:
    """Draw the cumulative energy of the displacements of each kind of path."""
    found = curves.spanned(shown, "energy")
    percent = {
        place: {kind: rows.assign(value=100 * rows["value"]) for kind, rows in by_kind.items()}
        for place, by_kind in found.items()
    }
    drawn = _lines(percent, _kinds(found), "directions, strongest first", "share of the energy (%)", points=10**6)
    if drawn is None:
        return None
    for axes in drawn.axes:
        last = axes.dataLim.x1
        axes.axhline(MOST, color=FAINT, linewidth=0.8)
        axes.annotate(f"{MOST} %", (1, MOST), (2, 2), textcoords="offset points", color=FAINT)
        axes.set_xscale("log")
        axes.set_xticks(ticks := [n for n in (1, 3, 10, 30, 100, 300, 1000) if n <= last], [str(n) for n in ticks])
        axes.minorticks_off()
        axes.set_ylim(0, 106)
    return Picture(
        drawn,
        "Cumulative share of the energy of the teachers' displacements against the number of directions, for each kind "
        f"of path.{_band(shown)}",
    )


def _dots(one: Contest, rows: dict[str, dict[str, Key]], own: dict[str, str], what: str) -> Picture | None:
    if not rows:
        return None
    longest = max(len(names) for names in rows.values())
    figure, panels = spread_out(list(rows), 0.7 + 0.3 * longest, most=2 if longest < MANY else 1)
    pairs = [*one.contestants, FULL]
    for axes, (title, names) in zip(panels, rows.items(), strict=True):
        places = {name: len(names) - 1 - at for at, name in enumerate(names)}
        for order, (who, setting) in enumerate(pairs):
            style = look(who)
            aside = 0.07 * ((len(pairs) - 1) / 2 - order)
            seen = {
                places[name] + aside: score
                for name, key in names.items()
                if (score := one.score(key._replace(who=who, setting=setting))) is not None
            }
            axes.errorbar(
                [score.mean for score in seen.values()],
                list(seen),
                xerr=[np.nan_to_num(score.std) for score in seen.values()],
                fmt=style.marker,
                color=style.colour,
                markersize=11 if style.marker == "|" else 5,
                markeredgewidth=2 if style.marker == "|" else 1,
                elinewidth=0.9,
                label=one.shown.called(who, setting),
            )
        if own.get(title) in places:
            middle = places[own[title]]
            axes.axhspan(middle - 0.45, middle + 0.45, color=RULE, alpha=0.7, linewidth=0, zorder=0)
        axes.set_yticks(list(places.values()), [plain(name, 30) for name in places])
        for between in range(len(names) - 1):
            axes.axhline(between + 0.5, color=RULE, linewidth=0.8, zorder=0)
        axes.set_ylim(-0.6, len(names) - 0.4)
        axes.set_xlabel("AUPRC on real test patients")
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
    legend(figure, panels)
    band = " The band is on the model that the sets were condensed with." if any(own.values()) else ""
    return Picture(
        figure,
        f"AUPRC on real test patients, {what} by {what}, by what models were trained on.{band} Bars: one standard "
        f"deviation over {one.shown.spread()}.",
    )


def _lines(
    found: curves.Curves, styles: dict[str, tuple[Look, str]], across: str, up: str, points: int = POINTS
) -> Figure | None:
    if not found:
        return None
    figure, panels = spread_out(list(found), 2.5)
    for axes, by_name in zip(panels, found.values(), strict=True):
        for place, (name, rows) in enumerate(by_name.items()):
            wide = line(rows, points)
            style, words = styles[name]
            x, mean = wide.index.to_numpy(), wide.mean(axis=1).to_numpy()
            trace(axes, (x, mean), style, words, place)
            if wide.shape[1] > 1:
                axes.fill_between(x, wide.min(axis=1), wide.max(axis=1), color=style.colour, alpha=0.18, linewidth=0)
        axes.set_xlabel(across)
    finish(figure, panels, up)
    return figure


def _kinds(found: curves.Curves) -> dict[str, tuple[Look, str]]:
    return {kind: (path_look(kind), path_words(kind)) for by_kind in found.values() for kind in by_kind}


def _band(shown: Shown) -> str:
    seeds = shown.rows["seed"].nunique()
    return f" Lines: mean of {seeds} seeds; bands: from the least to the greatest." if seeds > 1 else ""


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

"""Every table and figure of a benchmark, made from its results alone; a new kind is a row of `RENDERERS`."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib
import pandas as pd

from attar.bench import curves, pictures, tables
from attar.bench.panels import Picture
from attar.bench.rows import Shown, shortened, show
from attar.bench.typeset import Block, in_markdown, latex, markdown, table
from attar.errors import RunError
from attar.figures import STYLE, png, svg
from attar.store import Folder

if TYPE_CHECKING:
    from attar.bench.suite import Suite

MARKED = (
    "In brackets the share of the AUPRC of models trained on all patients. Best in bold; with three seeds or more, in "
    "italics what a two-sided paired t test over seeds (5 %, Holm's correction for all pairs of methods that are "
    "compared) cannot tell from it."
)


class Renderer(NamedTuple):
    """How a suite is shown: its tables, its picture, and whether methods are compared in the tables."""

    blocks: Callable[[Shown], list[Block]]
    picture: Callable[[Shown], Picture | None]
    marked: bool


RENDERERS: dict[str, Renderer] = {
    "grid": Renderer(tables.grid, pictures.budgets, True),
    "labels": Renderer(tables.labels, pictures.labels, True),
    "models": Renderer(tables.models, pictures.models, True),
    "ablation": Renderer(tables.grid, pictures.ablation, True),
    "storage": Renderer(tables.storage, pictures.storage, False),
    "curve": Renderer(curves.curve, pictures.curve, False),
    "profile": Renderer(curves.profile, pictures.profile, False),
    "spectrum": Renderer(curves.spectrum, pictures.spectrum, False),
}


class Rendered(NamedTuple):
    """A suite's files by name, and its section of the page."""

    files: dict[str, bytes]
    section: str


def render(folder: Path) -> list[Path]:
    """Write every table and figure of a benchmark, and a README.md that shows them; return what was written."""
    from attar.bench import results
    from attar.bench.suite import suite

    try:
        facts = json.loads((folder / "bench.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunError(f"{folder} holds no benchmark. Give the --out folder of an earlier attar bench.") from None
    except ValueError:
        raise RunError(f"{folder / 'bench.json'} is damaged. Run attar bench again with the same --out.") from None
    rows = results.read(folder)
    written = []
    for name, content in sorted(drawn([suite(name) for name in facts["suites"]], rows, facts).items()):
        path = folder / name
        Folder(path.parent).write(path.name, content)
        written.append(path)
    return written


def drawn(suites: Iterable["Suite"], results: pd.DataFrame, facts: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of all suites that have rows, by path inside the folder, and the page that shows them."""
    files: dict[str, bytes] = {}
    sections, empty = [], []
    for suite in suites:
        rendered = one(show(suite, results, facts["cohorts"]))
        files |= rendered.files
        sections += [rendered.section] if rendered.files else []
        empty += [] if rendered.files else [suite.title]
    page = [_opening(facts), *sections, *_missing(empty, facts.get("failed", []))]
    return files | {"README.md": "\n".join(page).encode()}


def one(shown: Shown) -> Rendered:
    """Return the files of one suite, none if it has no rows that it could show."""
    suite, renderer = shown.suite, RENDERERS[shown.suite.shows]
    blocks = renderer.blocks(shown)
    if not blocks:
        return Rendered({}, "")
    spread = any(cell.std == cell.std for block in blocks for _, cells in block.rows for cell in cells)
    about = suite.about + (f" Mean ± standard deviation over {shown.spread()}." if spread else "")
    whole = f"{about} {MARKED}" if renderer.marked else about
    title, paper, body = in_markdown(suite.title), in_markdown(suite.paper), markdown(blocks)
    files = {
        f"tables/{suite.name}.md": f"# {title}\n\n{in_markdown(whole)}\n\n{body}".encode(),
        f"tables/{suite.name}.tex": latex(blocks, suite.name, whole).encode(),
        f"tables/{suite.name}.csv": table(blocks).encode(),
    }
    section = [f"## {title}", f"{in_markdown(about)} *Paper: {paper}.*"]
    with matplotlib.rc_context(STYLE):
        picture = renderer.picture(shown)
    if picture is not None:
        files[f"figures/{suite.name}.png"] = png(picture.figure)
        picture.figure.set_layout_engine("none")  # It is laid out now; the other format need not do it again.
        files[f"figures/{suite.name}.svg"] = svg(picture.figure, picture.caption)
        section += [f"![{title}](figures/{suite.name}.png)", in_markdown(picture.caption)]
    links = ", ".join(f"[{Path(name).name}]({name})" for name in sorted(files))
    return Rendered(files, "\n\n".join([*section, body, links]) + "\n")


def _opening(facts: Mapping[str, Any]) -> str:
    size = f", size {in_markdown(facts['size'])}" if "size" in facts else ""
    cohorts = ", ".join(in_markdown(name) for name in shortened(facts["cohorts"]).values())
    made = "Made from results.parquet by `attar bench render`."
    return f"# Benchmark\n\nCohorts: {cohorts}{size}. {made}\n\nIn tables of scores: {MARKED[0].lower()}{MARKED[1:]}\n"


def _missing(empty: list[str], failed: Iterable[Mapping[str, str]]) -> list[str]:
    parts = []
    if empty:
        parts.append("## Without results yet\n\n" + "".join(f"- {in_markdown(title)}\n" for title in empty))
    lines = [f"- {in_markdown(each['run'])}: {in_markdown(each['message'])}\n" for each in failed]
    return parts + (["## Runs that failed\n\n" + "".join(lines)] if lines else [])

"""A table as Markdown for pages, as LaTeX (booktabs) for papers and as CSV for programs."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from attar.bench.compare import BEST, TIED

NAN = float("nan")


@dataclass(frozen=True)
class Cell:
    """What stands in one place of a table: words, a remark after them, their mark, and the numbers behind them."""

    text: str = "-"
    remark: str = ""
    mark: str = ""
    mean: float = NAN
    std: float = NAN
    seeds: int = 0
    share: float = NAN


@dataclass(frozen=True)
class Block:
    """A table with a title, the heading of its rows, and its columns; `below` parts its last rows from the others."""

    title: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    below: int = 0


MARKDOWN = {BEST: "**{}**", TIED: "*{}*"}
LATEX = {BEST: r"\textbf{{{}}}", TIED: r"\textit{{{}}}"}

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "Δ": r"$\Delta$",
} | {letter: "\\" + letter for letter in "&%$#_"}
"""Letter: how LaTeX writes it."""


def in_markdown(text: object) -> str:
    """Return text that Markdown shows as it is, on one line."""
    line = "".join(letter if letter.isprintable() else " " for letter in str(text))
    return re.sub(r"([\\`*_\[\]<>|$])", r"\\\1", line)


def in_latex(text: object) -> str:
    """Return text that LaTeX shows as it is, on one line."""
    line = "".join(letter if letter.isprintable() else " " for letter in str(text))
    return "".join(SPECIAL.get(letter, letter) for letter in line)


def markdown(blocks: Sequence[Block]) -> str:
    """Return tables in Markdown, each under its title in bold."""
    return "\n".join(_markdown(block) for block in blocks)


def latex(blocks: Sequence[Block], label: str, caption: str) -> str:
    """Return a LaTeX table for each block, so that none outgrows a page; labels are tab:LABEL-1, tab:LABEL-2, ..."""
    tables = [_latex(block, f"tab:{label}-{number}", caption) for number, block in enumerate(blocks, 1)]
    return "\n".join(["% Needs \\usepackage{booktabs}.", *tables])


def table(blocks: Sequence[Block]) -> str:
    """Return a line of CSV for every cell: where it stands, mean, standard deviation, seeds, share of full, mark."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["table", "row", "column", "mean", "std", "seeds", "share", "mark"])
    for block in blocks:
        for name, cells in block.rows:
            for column, cell in zip(block.columns, cells, strict=True):
                numbers = ["" if number != number else f"{number:.6g}" for number in (cell.mean, cell.std, cell.share)]
                writer.writerow([block.title, name, column, *numbers[:2], cell.seeds, numbers[2], cell.mark])
    return buffer.getvalue()


def _markdown(block: Block) -> str:
    head = "| " + " | ".join(in_markdown(name) for name in (block.corner, *block.columns)) + " |"
    rule = "|---|" + "---:|" * len(block.columns)
    lines = []
    for name, cells in block.rows:
        shown = [MARKDOWN.get(cell.mark, "{}").format(in_markdown(cell.text)) for cell in cells]
        remarks = [f" {in_markdown(cell.remark)}" if cell.remark else "" for cell in cells]
        parts = [in_markdown(name), *(text + remark for text, remark in zip(shown, remarks, strict=True))]
        lines.append("| " + " | ".join(parts) + " |")
    return "\n".join([f"**{in_markdown(block.title)}**", "", head, rule, *lines, ""])


def _latex(block: Block, label: str, caption: str) -> str:
    lines = []
    for name, cells in block.rows:
        shown = [LATEX.get(cell.mark, "{}").format(in_latex(cell.text)) for cell in cells]
        remarks = [f" {in_latex(cell.remark)}" if cell.remark else "" for cell in cells]
        parts = [in_latex(name), *(text + remark for text, remark in zip(shown, remarks, strict=True))]
        lines.append("    " + " & ".join(parts) + r" \\")
    if 0 < block.below < len(lines):
        lines.insert(len(lines) - block.below, r"    \midrule")
    return "\n".join(
        [
            r"\begin{table}[tp]",
            r"  \centering\small",
            rf"  \caption{{{in_latex(block.title)}. {in_latex(caption)}}}",
            rf"  \label{{{label}}}",
            rf"  \begin{{tabular}}{{l{'r' * len(block.columns)}}}",
            r"    \toprule",
            "    " + " & ".join(in_latex(name) for name in (block.corner, *block.columns)) + r" \\",
            r"    \midrule",
            *lines,
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )

"""How a benchmark is shown while it runs: a live table in a terminal, a line a run in a log."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from attar.bench.cells import Cell
from attar.bench.runner import Standing, Watcher


@contextmanager
def live(console: Console, cells: Sequence[Cell], quiet: bool) -> Iterator[Watcher]:
    """Show how far the cells are, by cohort and method; hand out who is told of each that ends."""
    if quiet:
        yield lambda standing, cell: None
    elif not console.is_terminal:
        yield lambda standing, cell: print(_line(standing, cell), file=sys.stderr, flush=True)
    else:
        total = Counter((cell.cohort, cell.recipe.method) for cell in cells)
        ended: Counter[tuple[str, str]] = Counter()
        with Live(_table(total, ended), console=console, refresh_per_second=2) as shown:

            def told(standing: Standing, cell: Cell) -> None:
                ended[cell.cohort, cell.recipe.method] += 1
                shown.update(Group(_table(total, ended), Text(_line(standing, cell))))

            yield told


def _line(standing: Standing, cell: Cell) -> str:
    failed = standing.failed.get(cell.name)
    how = f"failed: {failed}" if failed else "done"
    left = timedelta(seconds=round(standing.left))
    return f"{standing.done}/{standing.total} {cell.title}, seed {cell.recipe.seed}: {how}; about {left} left"


def _table(total: Counter[tuple[str, str]], ended: Counter[tuple[str, str]]) -> Table:
    cohorts, methods = (list(dict.fromkeys(pair[at] for pair in total)) for at in (0, 1))
    table = Table(title="runs", title_justify="left")
    table.add_column("method", no_wrap=True)
    for cohort in cohorts:
        table.add_column(cohort, justify="right", no_wrap=True)
    for method in methods:
        cells = [f"{ended[cohort, method]}/{total[cohort, method]}" for cohort in cohorts]
        table.add_row(method, *cells)
    return table

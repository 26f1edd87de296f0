"""Rows of a benchmark's results, and who writes many of them; apart, so that a writing process imports little."""

from pathlib import Path

from attar.bench import results
from attar.bench.results import Row


def row(cell: str, want: str = "scores", value: float = 0.5) -> Row:
    own = {"cohort": "c", "method": "btm", "per_class": 5, "seed": 0, "variant": "{}", "model": "mlp", "arm": "full"}
    return Row(cell=cell, want=want, measure="auprc", label="", x=float("nan"), value=value, values=(0.4, 0.6), **own)


def write_many(folder: Path, writer: int) -> None:
    for number in range(10):
        results.append(folder, [row(f"{writer}-{number}"), row("common")])

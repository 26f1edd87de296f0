"""How broad the supervision of each method is: the spectrum of its segments' displacements; prints a Markdown table.

    uv run benchmarks/spectrum.py OUT [--per-class 50]

OUT is the folder of `attar bench utility`. The student can only move in the span of its own gradients, so displacements
that need many directions cannot all be followed; the matching loss says how much was not.
"""

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from attar.bench import results
from attar.bench.rows import shortened
from attar.drawing import draw_segment
from attar.models.mlp import MLP
from attar.paths import PATHS
from attar.seeds import stream
from attar.storage import Vault
from attar.store import Run

SEGMENTS = 400


def main() -> None:
    """Print a row for each method, a column for each cohort; a cell is a mean over seeds, empty if there is no run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--per-class", type=int, default=50)
    words = parser.parse_args()
    rows = results.read(words.out)
    cells = rows[rows["per_class"] == words.per_class].groupby(["method", "cohort"], sort=False)["cell"].unique()
    cohorts = cells.index.unique("cohort")
    print(f"| method | {' | '.join(shortened(cohorts).values())} |")
    print("|---" * (1 + len(cohorts)) + "|")
    for method in cells.index.unique("method"):
        told = []
        for cohort in cohorts:
            found = [describe(Run(words.out / "runs" / cell)) for cell in cells.get((method, cohort), ())]
            told.append("{:.0f}, {:.2f}, {:.3f}".format(*np.mean(found, axis=0)) if found else "")
        print(f"| {method} | {' | '.join(told)} |", flush=True)


def describe(run: Run) -> tuple[float, float, float]:
    """Return directions with 95 % of the energy, and matching loss and validation AUPRC over the run's second half."""
    history = run.read_table("history.parquet")
    later = history.iloc[len(history) // 2 :]
    energy = spectrum(run)
    return float(np.searchsorted(energy, 0.95) + 1), later["loss"].mean(), later["val_auprc"].mean()


def spectrum(run: Run) -> np.ndarray:
    """Return the cumulative share of energy of the displacements of segments drawn as in the run's last iteration."""
    recipe, inputs = run.recipe(), run.read_arrays("condensed.safetensors")
    model = MLP(inputs["x"].shape[1], inputs["y"].shape[1], recipe.model.hidden, recipe.model.dropout)
    vault = Vault(model, recipe)
    points = vault.unpack_teachers(run.read_arrays("teachers.safetensors"))
    stored = vault.unpack(run.read_arrays("paths.safetensors"))
    paths = PATHS[recipe.path.kind].restore(model, stored, points[:, 0], points[:, -1])
    keys, last = jax.random.split(stream(recipe.seed, "spectrum"), SEGMENTS), jnp.int32(recipe.inputs.iterations - 1)
    drawn = jax.jit(jax.vmap(lambda key: draw_segment(paths, recipe, key, last)))(keys)
    moves = np.asarray(drawn.end - drawn.start, np.float64)
    values = np.linalg.eigvalsh(moves @ moves.T)[::-1]
    return np.cumsum(values) / values.sum()


if __name__ == "__main__":
    main()

"""How long attar takes and how much memory, one JSON line a measurement; the first line names the machine.

    python benchmarks/speed.py [--torch] [--only a/100]   one outer iteration against plain training (and PyTorch)
    python benchmarks/speed.py --teachers                 teachers together against one by one
    python benchmarks/speed.py --long                     a long condensation, and whether its memory grows

Each case runs in a process of its own, so that its peak memory (interpreter and compilation included) is its own.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jax import Array, lax

from attar import condense, initial, recipe, teach
from attar.cohort import Cohort
from attar.evaluate.utility import Scorer
from attar.legal import legal
from attar.match import GRADIENTS, Lesson, Match, Segment
from attar.models import MODELS, Model, flat
from attar.models.layout import Layout
from attar.models.mlp import MLP
from attar.models.student import student_loss
from attar.paths import PATHS
from attar.patients import balanced
from attar.prepare import prepare
from attar.run import build_model
from attar.seeds import stream
from attar.state import Chunk, State
from attar.train import fresh

STEPS = (60, 30)
SERIES = Layout(hours=48, channels=60, static=0)


@dataclass(frozen=True)
class Case:
    """A network with one output, condensed rows, and the student's steps."""

    model: Any
    rows: int
    steps: tuple[int, ...] = STEPS

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the condensed inputs."""
        return self.rows, self.model.layout.width if hasattr(self.model, "layout") else self.model.features


NETWORKS = {"a": MLP(27, 1, 64, dropout=0.25), "b": MLP(402, 1, 256, dropout=0.25)}
CASES = {f"{name}/{rows}": Case(model, rows) for name, model in NETWORKS.items() for rows in (100, 1000)}
CASES["c"] = Case(MODELS["tcn"].make(SERIES, 1, 64, 0.75), 256, (30,))
CASES["c-lstm"] = Case(MODELS["lstm-1"].make(SERIES, 1, 128, 0.25), 256, (30,))

ROUNDS, TURN = 9, 0.2
"""How often each contender has its turn, and the seconds that a turn lasts at least."""

TABLE = (25_000, 27)
TEACHERS, EPOCHS = 50, 100
ALONE, ALONE_EPOCHS = 3, 10
ITERATIONS, EARLY = 20_000, 2_000

Call = Callable[[], object]


def main() -> None:
    """Measure what the command line asks for."""
    options = read_options()
    if options.torch and installed("torch") is None:
        sys.exit("speed.py: --torch needs PyTorch, which is not installed here.")
    if not options.case:
        say({"machine": machine()})
    if options.case:
        say(measure_case(options.case, options.steps, options.gradient, options.torch))
    elif options.teachers:
        say(measure_teachers())
    elif options.long:
        say(measure_long())
    else:
        spawn_cases([options.only] if options.only else list(CASES), options.torch)


def read_options() -> argparse.Namespace:
    """Read the command line; the hidden options are how a case is handed to its own process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", action="store_true", help="time a plain PyTorch loop beside each case")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--only", choices=CASES, help="measure one case")
    what.add_argument("--teachers", action="store_true", help="measure teachers instead of the cases")
    what.add_argument("--long", action="store_true", help="measure a long condensation instead of the cases")
    what.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--steps", type=int, default=STEPS[0], help=argparse.SUPPRESS)
    parser.add_argument("--gradient", choices=GRADIENTS, default="first-order", help=argparse.SUPPRESS)
    return parser.parse_args()


def say(line: dict[str, Any]) -> None:
    """Print one JSON line now."""
    print(json.dumps(line), flush=True)


def installed(package: str) -> str | None:
    """Return a package's version, or None if it is absent."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def machine() -> dict[str, Any]:
    """Describe what the numbers were taken on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    versions = {name: installed(name) for name in ("jax", "torch")}
    return {"cores": os.cpu_count(), "memory_gib": round(memory / 2**30, 1), **versions}


def peak_rss() -> float:
    """Return the most memory this process has held so far, in MiB."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)


def spawn_cases(cases: list[str], with_torch: bool) -> None:
    """Run every case in a fresh process, which prints its own line."""
    wanted = [(case, *rest) for case in cases for rest in product(CASES[case].steps, GRADIENTS)]
    for case, steps, gradient in wanted:
        command = [sys.executable, __file__, "--case", case, "--steps", str(steps), "--gradient", gradient]
        if code := subprocess.run(command + ["--torch"] * with_torch, check=False).returncode:
            sys.exit(code)


def measure_case(case: str, steps: int, gradient: str, with_torch: bool) -> dict[str, Any]:
    """Time the matching loss with its gradients against plain training of the same student.

    Peak memory is read before anything but the iteration itself has run.
    """
    model, rows = CASES[case].model, CASES[case].rows
    segment, lesson = problem = made_up_segment(model, CASES[case].shape)
    match = jax.jit(partial(GRADIENTS[gradient], model, steps=steps, learn_labels=False))
    contenders: dict[str, Call] = {
        "iteration": lambda: jax.block_until_ready(match(*problem)),
        "floor": lambda: jax.block_until_ready(train_student(model, segment.start, lesson, steps)),
    }
    contenders["iteration"]()
    memory = peak_rss()
    if with_torch:
        lean = torch_loops(model, *problem, steps, dropout=0.0)
        refuse_different(lean[1](), GRADIENTS["exact"](model, *problem, steps, False))
        public = torch_loops(model, *problem, steps, dropout=model.dropout)
        contenders |= {f"lean {threads}": loop for threads, loop in lean.items()}
        contenders |= {f"public {threads}": loop for threads, loop in public.items()}
    ms = time_in_turns(contenders)
    line = {"case": case, "rows": rows, "steps": steps, "gradient": gradient}
    line |= {f"{name}_ms": round(ms[name], 3) for name in ("iteration", "floor")}
    line |= {"ratio": round(ms["iteration"] / ms["floor"], 2), "peak_rss_mb": memory}
    if with_torch:
        for name, field in (("public", "torch"), ("lean", "torch_lean")):
            best = min(ms[f"{name} {threads}"] for threads in lean)
            line |= {f"{field}_ms": round(best, 3), f"{field}_speedup": round(best / ms["iteration"], 2)}
    return line


def made_up_segment(model: Model, shape: tuple[int, int]) -> tuple[Segment, Lesson]:
    """Make up the two ends of a segment, a balanced condensed set and a step size."""
    keys = jax.random.split(jax.random.key(0), 3)
    start = model.init(keys[0])
    end = start + 0.05 * jax.random.normal(keys[1], start.shape)
    x = jax.random.normal(keys[2], shape)
    y = (jnp.arange(len(x)) % 2).astype(jnp.float32)[:, None]
    return Segment(start, end), Lesson(x, y, jnp.float32(0.01))


@partial(jax.jit, static_argnames=("model", "steps"))
def train_student(model: Model, start: Array, lesson: Lesson, steps: int) -> Array:
    """Take plain gradient steps and keep only where they end: the least that any matching has to do."""
    slope = jax.grad(student_loss, 1)
    x, y, step_size, _ = lesson
    return lax.scan(lambda theta, _: (theta - step_size * slope(model, theta, x, y), None), start, length=steps)[0]


def time_in_turns(contenders: dict[str, Call]) -> dict[str, float]:
    """Return each contender's median milliseconds a call; they take turns, so that all meet the same disturbances.

    The first call of a turn is not timed: in the first round it compiles, later it brings back caches and threads.
    """
    spans: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(ROUNDS):
        for name, call in contenders.items():
            call()
            until = time.perf_counter() + TURN
            while (began := time.perf_counter()) < until:
                call()
                spans[name].append(time.perf_counter() - began)
    return {name: 1e3 * statistics.median(span) for name, span in spans.items()}


def torch_loops(model: Model, segment: Segment, lesson: Lesson, steps: int, dropout: float) -> dict[int, Call]:
    """Return the same iteration as anyone would write it in PyTorch, on one thread and on all cores.

    The student is unrolled and differentiated as a whole, with dropout as the public codes have it, or without. Threads
    do not always help so small a network, and cost a hundredfold where another program wants the same cores: only the
    faster of the two is a fair opponent.
    """
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    from torch_networks import NETWORKS as FORWARD

    forward = FORWARD[type(model)]
    split = partial(flat.split, tensors=model.tensors)
    first, goal = ([torch.tensor(np.asarray(part)) for part in split(theta)] for theta in segment[:2])
    inputs, labels, rate = (torch.tensor(np.asarray(array)) for array in lesson[:3])
    length = sum(((a - b) ** 2).sum() for a, b in zip(first, goal, strict=True))
    for tensor in (*first, inputs, rate):
        tensor.requires_grad_()

    def call(threads: int) -> tuple[Any, ...]:
        torch.set_num_threads(threads)
        theta = first
        for _ in range(steps):
            loss = binary_cross_entropy_with_logits(forward(model, theta, inputs, dropout), labels)
            slopes = torch.autograd.grad(loss, theta, create_graph=True)
            theta = [part - rate * slope for part, slope in zip(theta, slopes, strict=True)]
        loss = sum(((a - b) ** 2).sum() for a, b in zip(theta, goal, strict=True)) / length
        return (loss.detach(), *torch.autograd.grad(loss, (inputs, rate)))

    return {threads: partial(call, threads) for threads in sorted({1, os.cpu_count() or 1})}


def refuse_different(found: Any, wanted: Match) -> None:
    """Stop unless PyTorch found the same loss and exact gradients: else its time means nothing."""
    for name, ours, theirs in zip(Match._fields[:3], wanted[:3], found, strict=True):
        error = np.linalg.norm(np.asarray(theirs) - np.asarray(ours)) / np.linalg.norm(np.asarray(ours))
        if not error < 1e-2:
            sys.exit(f"speed.py: PyTorch and attar differ by {error:.1%} in {name}.")


def made_up() -> tuple[pd.DataFrame, np.ndarray]:
    """Make up a table of real, whole and 0/1 columns, and an outcome of one patient in ten or so."""
    rng = np.random.default_rng(0)
    rows, columns = TABLE
    values = rng.standard_normal(TABLE)
    frame = pd.DataFrame(values, columns=[f"x{index}" for index in range(columns)])
    whole, binary = frame.columns[columns // 3 : 2 * columns // 3], frame.columns[2 * columns // 3 :]
    frame[whole] = np.rint(60 + 15 * frame[whole]).astype(np.int64)
    frame[binary] = (frame[binary] > 0.5).astype(np.int64)
    risk = 1 / (1 + np.exp(3 - values @ rng.normal(0, 0.3, columns)))
    return frame, (rng.random(rows) < risk).astype(np.int64)


def measure_teachers() -> dict[str, Any]:
    """Time teachers trained together, and a few alone for fewer epochs, scaled to as many and as long."""
    frame, y = made_up()
    x = ((frame - frame.mean()) / frame.std()).to_numpy(np.float32)
    task = teach.task(x, y[:, None].astype(np.float32), "aligned", np.array([0.5], np.float32))
    model = MLP(TABLE[1], 1, 64, dropout=0.25)
    settings = recipe.load().teachers.model_copy(update={"batch": 256, "momentum": 0.9})

    def seconds(count: int, epochs: int, seed: int) -> float:
        began = time.perf_counter()
        teach.teach(model, task, settings.model_copy(update={"count": count, "epochs": epochs}), seed)
        return time.perf_counter() - began

    for count in (1, TEACHERS):
        seconds(count, 1, seed=0)
    alone = [seconds(1, ALONE_EPOCHS, seed) for seed in range(ALONE)]
    together = seconds(TEACHERS, EPOCHS, seed=0)
    one_by_one = statistics.median(alone) * TEACHERS * EPOCHS / ALONE_EPOCHS
    line: dict[str, Any] = {"teachers": TEACHERS, "epochs": EPOCHS, "table": TABLE}
    line |= {"together_s": round(together, 2), "one_by_one_s": round(one_by_one, 2)}
    line |= {"one_by_one_note": f"scaled from the median of {ALONE} teachers x {ALONE_EPOCHS} epochs"}
    return line | {"ratio": round(one_by_one / together, 2), "peak_rss_mb": peak_rss()}


def measure_long() -> dict[str, Any]:
    """Time a long condensation with the default recipe, compilation included, teachers and paths not.

    Peak memory is read before it, early in it and at its end: the last two are the same if memory stays flat.
    """
    settings = recipe.load("default", {"inputs.iterations": ITERATIONS, "per_class": 50, "selection.every": 10})
    cohort = Cohort.from_arrays(*made_up())
    data = prepare(cohort, cohort.split(settings.seed), settings.prepare.clip, settings.prepare.indicators)
    model = build_model(settings, data)
    rng = np.random.default_rng(0)
    start = initial.draw(data.x_train, data.y_train, settings.per_class, settings.inputs.start, rng)
    task = teach.task(data.x_train, data.y_train, settings.teachers.prior, start.y.mean(axis=0))
    teachers = teach.teach(model, task, settings.teachers, settings.seed)
    paths = PATHS[settings.path.kind].draw(model, teachers, task, settings, lambda step: None)
    key = stream(settings.seed, "selection")
    networks = fresh(model, key, settings.selection.initialisations)
    scorer = Scorer.of(networks, key, data.x_validation, data.y_validation)
    patients = balanced(data.x_train, data.y_train)
    history: list[Chunk] = []
    peaks: dict[int, float] = {}

    def watch(state: State, chunk: Chunk) -> None:
        history.append(chunk)
        peaks[int(state.iteration)] = peak_rss()

    before, began = peak_rss(), time.perf_counter()
    state = condense.begin(model, paths, patients, start.x, start.y, settings)
    condense.condense(model, paths, patients, legal(data.preparation), scorer, settings, state, watch)
    line: dict[str, Any] = {"seconds": round(time.perf_counter() - began, 1), "peak_rss_mb": peak_rss()}
    line |= {"peak_rss_mb_before": before, f"peak_rss_mb_at_{EARLY}": peaks[EARLY]}
    line |= {"iterations": ITERATIONS, "per_class": settings.per_class, "validation_rows": len(data.x_validation)}
    line |= {"network": [model.features, model.hidden, model.outputs], "student": settings.student.model_dump()}
    return line | {"selection": settings.selection.model_dump()}


if __name__ == "__main__":
    main()

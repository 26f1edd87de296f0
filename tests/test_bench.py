"""The grid of a benchmark: which runs it needs, how it survives being killed, and what it does with a failure."""

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from attar import cli
from attar.bench import results, runner
from attar.bench.cells import Choice, plan
from attar.bench.measures import WANTS
from attar.bench.render import RENDERERS
from attar.bench.suite import Suite, size, sizes, suite
from attar.bench.suites import names
from attar.cohort import Cohort
from attar.errors import RecipeError
from attar.methods import METHODS
from attar.models import MODELS
from conftest import QUICK
from writing import row, write_many

TINY = {key: value for key, value in QUICK.items() if key != "per_class"}


@pytest.fixture(scope="module")
def cohorts():
    return {name: Cohort.read(name) for name in ("support2", "nhanes")}


def test_every_suite_names_what_there_is():
    for name in names():
        found = suite(name)
        assert set(found.methods) <= set(METHODS)
        assert set(found.wants) <= set(WANTS)
        assert found.wants[0] == "scores"
        assert found.shows in RENDERERS
        assert set(found.models) <= {*MODELS, "logistic", "random-forest"}
        assert bool(found.vary) == bool(found.values)
    assert sizes() == ["quick", "standard", "full"]
    with pytest.raises(RecipeError, match="Did you mean 'utility'"):
        suite("utlity")
    with pytest.raises(RecipeError, match="no size 'quik'"):
        size("quik")


def test_suites_share_the_runs_that_they_have_in_common(cohorts):
    quick = size("quick")
    apart = {name: plan([suite(name)], cohorts, quick, Choice()) for name in names()}
    together = plan([suite(name) for name in names()], cohorts, quick, Choice())
    assert len({cell.name for cell in together}) == len(together) < sum(map(len, apart.values()))
    assert {cell.cohort for cell in apart["phenotyping"]} == {"nhanes"}
    assert {cell.name for cells in apart.values() for cell in cells} == {cell.name for cell in together}
    served = [cell for cell in together if cell.recipe.method == "btm" and cell.recipe.per_class == 50]
    assert any(set(WANTS) <= set(cell.wants) for cell in served)
    assert any(len(cell.variants) > 1 for cell in served)


def test_what_the_user_asks_for_goes_before_what_suites_say(cohorts):
    choice = Choice(("btm", "mtt"), (7,), (3, 4), (("teachers.count", 2),))
    cells = plan([suite("utility")], {"support2": cohorts["support2"]}, size("quick"), choice)
    assert {(cell.recipe.method, cell.recipe.per_class, cell.recipe.seed) for cell in cells} == {
        (method, 7, seed) for method in ("btm", "mtt") for seed in (3, 4)
    }
    assert all(cell.recipe.teachers.count == 2 for cell in cells)


def test_results_hold_each_row_once_and_in_full(tmp_path):
    results.append(tmp_path, [row("a"), row("b")])
    results.append(tmp_path, [row("b", value=0.9), row("b", want="models")])
    found = results.read(tmp_path)
    assert found[["cell", "want", "value"]].to_numpy().tolist() == [
        ["a", "scores", 0.5],
        ["b", "scores", 0.5],
        ["b", "models", 0.5],
    ]
    assert found["values"].iloc[0].tolist() == [0.4, 0.6]
    (tmp_path / results.FILE).write_bytes(b"half a table")
    with pytest.raises(Exception, match=r"results.parquet is damaged .* Remove it"):
        results.read(tmp_path)


def test_parallel_writers_lose_and_double_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_many, args=(tmp_path, writer)) for writer in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
        assert writer.exitcode == 0
    assert sorted(results.read(tmp_path)["cell"]) == sorted(
        ["common", *(f"{writer}-{number}" for writer in range(3) for number in range(10))]
    )


def words(folder):
    settings = [f"--set={key}={value}" for key, value in TINY.items()]
    chosen = ["--cohorts", "support2", "--methods", "line,btm", "--per-class", "5", "--seeds", "0"]
    return ["bench", "paths", *chosen, *settings, "--out", str(folder)]


def bench(folder):
    command = [sys.executable, "-c", "from attar.cli import main; main()", *words(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def bench_here(folder, monkeypatch, capsys):
    """Run the same command in this process; return what it said and what was heard of its progress."""
    monkeypatch.setattr(sys, "argv", ["attar", *words(folder)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    printed = capsys.readouterr()
    assert not ended.value.code, printed.err
    return printed.out, printed.err


def test_killed_at_any_moment_it_goes_on_to_the_same_results(tmp_path, monkeypatch, capsys):
    said, heard = bench_here(tmp_path / "whole", monkeypatch, capsys)
    assert "2/2" in heard
    assert str(tmp_path / "whole" / "README.md") in said
    chance, folder = random.Random(time.time_ns()), tmp_path / "killed"
    for marker in ("runs", results.FILE):
        process = bench(folder)
        deadline = time.monotonic() + 240
        while not (folder / marker).exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.5))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    last = bench(folder)
    heard = last.communicate(timeout=300)[1]
    assert last.returncode == 0, heard
    expected, found = results.read(tmp_path / "whole"), results.read(folder)
    assert not found.duplicated(["cell", "variant", "want", "model", "arm", "measure", "label", "x"]).any()
    pd.testing.assert_frame_equal(expected, found)
    assert "2 runs, 2 of them done before" in bench_here(folder, monkeypatch, capsys)[1]


def test_a_failed_run_is_told_and_stops_no_other(tmp_path, cohorts, monkeypatch):
    choice = Choice((), (5, 4000), (0,), tuple(TINY.items()))
    cells = plan([suite("paths")], {"support2": cohorts["support2"]}, size("quick"), choice)
    one = [cell for cell in cells if cell.recipe.method == "line"]
    heard = []
    standing = runner.run(one, tmp_path, watch=lambda standing, cell: heard.append(cell.recipe.per_class))
    assert sorted(heard) == [5, 4000]
    (message,) = standing.failed.values()
    assert "--per-class 4000 asks for" in message
    assert set(results.read(tmp_path)["per_class"]) == {5}


def test_every_want_gives_numbers(tmp_path, cohorts):
    everything = Suite(
        name="all", title="", paper="", about="", shows="grid", methods=("btm",), models=("logistic",), wants=(*WANTS,)
    )
    choice = Choice((), (5,), (0,), tuple(TINY.items()))
    cells = plan([everything], {"support2": cohorts["support2"]}, size("standard"), choice)
    assert not runner.run(cells, tmp_path).failed
    found = results.read(tmp_path)
    assert set(found["want"]) == set(WANTS)
    assert np.isfinite(found["value"]).all()
    energy = found[found["measure"] == "energy"]
    assert set(energy["label"]) == {"checkpoints", "convexified", "bezier"}
    assert energy.groupby("label")["value"].max().min() == pytest.approx(1.0, abs=1e-6)
    assert set(found.loc[found["want"] == "profile", "measure"]) == {"line_loss", "path_loss", "sgd_loss"}
    ends = found[found["want"] == "profile"].pivot(index="x", columns="measure", values="value").iloc[[0, -1]]
    np.testing.assert_allclose(ends["sgd_loss"], ends["path_loss"], rtol=1e-3)
    assert json.loads(found["variant"].iloc[0]) == {}

import gc
import os
import re
import secrets
import signal
import socket
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from attar import scale
from attar.errors import UserError
from attar.scale import Failed, Task, run_all

pytestmark = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")

if TYPE_CHECKING:
    from attar.cohort import Cohort
    from attar.recipe import Recipe


def add(*numbers: int) -> int:
    return sum(numbers)


def list_of(*values: Any) -> list[Any]:
    return list(values)


def quote(patient: int) -> None:
    raise ValueError(f"cannot read the patient {patient}")


def announce(folder: Path) -> None:
    """Say which process works, then work on for ever."""
    (folder / str(os.getpid())).touch()
    while True:
        signal.pause()


def long_product(rows: int) -> np.ndarray:
    """A sum so long that its last bits depend on how many threads share it."""
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    a, b = (jnp.asarray(rng.normal(size=(rows, 8)), jnp.float32) for _ in range(2))
    return np.asarray(a.T @ b)


def taught(cohort: "Cohort", recipe: "Recipe", seed: int) -> np.ndarray:
    """Points of teachers: more than Ray sends along with a message."""
    from attar import prepare, run, teach

    data = prepare.prepare(cohort, cohort.split(0))
    task = teach.task(data.x_train, data.y_train, "none", np.full(1, 0.5))
    return teach.teach(run.build_model(recipe, data), task, recipe.teachers, seed, True).points


def drawn(cohort: "Cohort", recipe: "Recipe", fate: Path | None, points: np.ndarray) -> np.ndarray:
    """Losses along the teachers' paths. With a fate: not done before a node is lost, and never on that node."""
    from attar import paths, prepare, run, teach

    if fate is not None:
        (fate / f"{os.getppid()}-{os.getpid()}").touch()
        await_event(lambda: (fate / "lost").exists() and str(os.getppid()) != (fate / "doomed").read_text())
    data = prepare.prepare(cohort, cohort.split(0))
    model = run.build_model(recipe, data)
    task = teach.task(data.x_train, data.y_train, "none", np.full(1, 0.5))
    path = paths.Bezier.draw(model, teach.Teachers(points), task, recipe, lambda done: None)
    return np.asarray(paths.profile(model, path, task))


def condensed(cohort: "Cohort", recipe: "Recipe", folder: Path) -> list[bytes]:
    """The files of a whole run that hold its results."""
    from attar.run import condense_cohort

    condense_cohort(cohort, recipe, folder)
    return [(folder / name).read_bytes() for name in ("condensed.csv", "condensed.safetensors", "scores.json")]


def await_event(happened: Callable[[], bool], seconds: float = 400.0) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "What was awaited did not happen."
        time.sleep(0.02)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """Ray, whose clusters let in only these tests and whose workers find the functions of this file.

    They are as urgent as the tests beside them: Ray's are not, and starved while those compiled.
    """
    if find_spec("ray") is None:
        pytest.skip("Ray is not installed: pip install 'attar[ray]'")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        patch.setenv("RAY_worker_niceness", "0")
        yield scale.load_ray()


@pytest.fixture(scope="module")
def cluster(ray: Any) -> Iterator[Any]:
    """A Ray cluster of one node, which others may join."""
    from ray.cluster_utils import Cluster

    running = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield running
    running.shutdown()


@pytest.fixture(params=["here", "ray"])
def run(request: pytest.FixtureRequest) -> Callable[[list[Task]], dict[str, Any]]:
    """Runs tasks in this process or on the cluster."""
    if request.param == "here":
        return lambda tasks: dict(run_all(tasks))
    address = request.getfixturevalue("cluster").address
    return lambda tasks: dict(run_all(tasks, "ray", address))


def test_a_task_is_given_what_it_needs_in_the_order_it_names(run):
    tasks = [
        Task("all", list_of, (1,), after=("c", "b")),
        Task("c", add, (1, 2)),
        Task("b", add, (10,), after=("c",)),
    ]
    assert run(tasks) == {"c": 3, "b": 13, "all": [1, 3, 13]}


def test_a_failed_task_stops_only_those_that_need_it(run):
    tasks = [
        Task("bad", run_all, ([], "rey")),
        Task("worse", quote, (4711,)),
        Task("good", add, (1, 2)),
        Task("needs bad", add, after=("good", "bad")),
        Task("needs that", add, after=("needs bad",)),
        Task("needs good", add, (1,), after=("good",)),
    ]
    results = run(tasks)
    assert results["bad"] == Failed("bad", "UserError: Tasks cannot run on 'rey'. Did you mean 'ray' or 'here'?")
    assert results["needs bad"] == Failed("needs bad", "needs bad, which failed")
    assert results["needs that"] == Failed("needs that", "needs needs bad, which failed")
    assert (results["good"], results["needs good"]) == (3, 4)
    assert results["worse"].message.startswith("ValueError: raised in test_scale.py, line ")


def test_here_keeps_the_order_given_as_far_as_it_can():
    names = ["d", "a", "c", "b"]
    tasks = [Task(name, add, after=("b",) if name == "a" else ()) for name in names]
    assert [name for name, _ in run_all(tasks)] == ["d", "c", "b", "a"]


def test_here_drops_a_result_that_no_later_task_needs():
    kept = {}

    def make(name):
        made = np.zeros(1)
        kept[name] = weakref.ref(made)
        return made

    def look(*given):
        gc.collect()
        return [name for name, reference in kept.items() if reference() is not None]

    tasks = [
        Task("a", make, ("a",)),
        Task("b", make, ("b",)),
        Task("first", look, after=("a",)),
        Task("second", look, after=("b",)),
        Task("third", look),
    ]
    seen = {}
    for name, result in run_all(tasks):
        if isinstance(result, list):
            seen[name] = result
        del result
    assert seen == {"first": ["a", "b"], "second": ["b"], "third": []}


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ([Task("a", add), Task("a", add)], "same name"),
        ([Task("a", add, after=("b",))], "are not: b"),
        ([Task("a", add, after=("b",)), Task("b", add, after=("a",))], "circle"),
    ],
)
def test_tasks_that_cannot_be_ordered_are_refused_at_once(tasks, words):
    with pytest.raises(ValueError, match=words):
        run_all(tasks)


def test_an_unknown_place_is_refused_at_once():
    with pytest.raises(UserError, match=r"'rey'.*Did you mean 'ray'"):
        run_all([], on="rey")
    with pytest.raises(UserError, match="Ask for 'ray'"):
        run_all([], address="127.0.0.1:6379")


def test_without_ray_the_install_line_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"pip install 'attar\[ray\]'"):
        next(run_all([Task("a", add)], "ray"))


@pytest.mark.parametrize("greeting", [None, b"SSH-2.0-a server that is not Ray\r\n"])
def test_a_cluster_that_does_not_answer_is_told(ray, greeting):
    server = socket.create_server(("", 0))
    address = f"127.0.0.1:{server.getsockname()[1]}"
    if greeting is None:
        server.close()
    else:

        def answer():
            with server.accept()[0] as line:
                line.sendall(greeting)

        threading.Thread(target=answer, daemon=True).start()
    with server, pytest.raises(UserError, match=f"No Ray cluster answers at '{address}'"):
        next(run_all([Task("a", add)], "ray", address))


def test_workers_round_as_this_process_and_tell_nobody(cluster, monkeypatch):
    monkeypatch.setenv("JAX_DEFAULT_MATMUL_PRECISION", "highest")
    monkeypatch.setenv("PJRT_NPROC", "3")
    names = ("JAX_DEFAULT_MATMUL_PRECISION", "PJRT_NPROC", "OMP_NUM_THREADS")
    results = dict(run_all([Task(name, os.getenv, (name,)) for name in names], "ray", cluster.address))
    assert results == {name: scale.numerics()[name] for name in names}
    assert results["PJRT_NPROC"] == "3"
    from ray._common.usage.usage_lib import usage_stats_enabled

    assert not usage_stats_enabled()


def test_a_process_that_dies_each_time_is_a_failed_task(cluster, monkeypatch):
    monkeypatch.setattr(scale, "RETRIES", 0)
    tasks = [Task("dies", os._exit, (1,)), Task("needs it", add, after=("dies",)), Task("lives", add, (1,))]
    results = dict(run_all(tasks, "ray", cluster.address))
    assert re.fullmatch("WorkerCrashedError: .+", results["dies"].message)
    assert results["needs it"] == Failed("needs it", "needs dies, which failed")
    assert results["lives"] == 1


def test_an_interruption_ends_the_work(cluster, tmp_path, monkeypatch):
    def interrupt():
        await_event(lambda: any(tmp_path.iterdir()))
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=interrupt, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            dict(run_all([Task("a", announce, (tmp_path,)), Task("b", announce, (tmp_path,))], "ray", cluster.address))
    finally:
        signal.signal(signal.SIGINT, before)
    (process,) = tmp_path.iterdir()
    await_event(lambda: not alive(int(process.name)))
    assert dict(run_all([Task("after", add, (1,))], "ray", cluster.address)) == {"after": 1}


def test_ray_starts_on_this_machine_by_itself(ray):
    assert dict(run_all([Task(str(n), add, (n, n)) for n in range(3)], "ray")) == {"0": 0, "1": 2, "2": 4}
    assert not ray.is_initialized()


def grid(cohort: "Cohort", recipe: "Recipe", folder: Path, fate: Path | None) -> list[Task]:
    tasks = [Task("condensed", condensed, (cohort, recipe, folder)), Task("product", long_product, (200_000,))]
    for seed in range(2):
        tasks.append(Task(f"teachers {seed}", taught, (cohort, recipe, seed)))
        tasks.append(Task(f"paths {seed}", drawn, (cohort, recipe, fate), after=(f"teachers {seed}",)))
    return tasks


def test_a_grid_that_loses_a_node_ends_with_the_bytes_of_this_process(cluster, small_cohort, quick, tmp_path):
    from attar.recipe import load

    recipe = load("default", {**quick, "method": "herding"})
    expected = dict(run_all(grid(small_cohort, recipe, tmp_path / "here", None)))
    assert not any(isinstance(result, Failed) for result in expected.values())
    fate = tmp_path / "fate"
    fate.mkdir()
    node = cluster.add_node(num_cpus=1)
    raylet = node.all_processes["raylet"][0].process.pid
    (fate / "doomed").write_text(str(raylet))

    def lose_node():
        await_event(lambda: any(fate.glob(f"{raylet}-*")))
        os.kill(raylet, signal.SIGKILL)
        (fate / "lost").touch()

    threading.Thread(target=lose_node, daemon=True).start()
    found = dict(run_all(grid(small_cohort, recipe, tmp_path / "ray", fate), "ray", cluster.address))
    assert (fate / "lost").exists()
    assert len(list(fate.glob("*-*"))) >= 2
    assert found.keys() == expected.keys()
    assert found["condensed"] == expected["condensed"]
    for name in expected.keys() - {"condensed"}:
        assert found[name].dtype == expected[name].dtype
        assert found[name].tobytes() == expected[name].tobytes(), name

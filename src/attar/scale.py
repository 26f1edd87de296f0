"""Many tasks, one after another in this process or side by side on a Ray cluster: the same results, bit for bit."""

import os
import socket
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from importlib import import_module
from pathlib import Path
from typing import Any

from attar.errors import AttarError, UserError, nearest

RETRIES = 5
SECONDS_TO_ANSWER = 20.0
PLACES = ("here", "ray")
SETTINGS = b"\x04"
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + SETTINGS + bytes(5)
"""What opens a connection in HTTP/2, which Ray speaks; the answer is a frame of the same type."""


@dataclass(frozen=True)
class Task:
    """A piece of work: `work(*given, *results of the tasks named in after)`.

    `work` is a function that can be imported. On Ray it may be done twice, if its node is lost, so it writes whole
    files or none, and it leaves what it is given as it is.
    """

    name: str
    work: Callable[..., Any]
    given: tuple[Any, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failed:
    """What a task ends in if its work raised, or if a task it needs did; one line that shows no patient's values."""

    name: str
    message: str


def run_all(tasks: Sequence[Task], on: str = "here", address: str | None = None) -> Iterator[tuple[str, Any | Failed]]:
    """Do all tasks and give each name with its result as it is done; one that fails does not stop the others.

    "here" works in this process, in the order given as far as `after` allows. "ray" works on the cluster at `address`,
    or on this machine's cores if that is None. Its workers take over what decides in this process how numbers are
    rounded, above all how many threads XLA has (PJRT_NPROC, by default the cores): it splits long sums by that. So
    both give the same bytes on processors of one kind.
    """
    if on not in PLACES:
        raise UserError(f"Tasks cannot run on {on!r}.{nearest(on, PLACES)}")
    if address is not None and on != "ray":
        raise UserError(f"The address {address!r} is that of a Ray cluster, but tasks run on {on!r}. Ask for 'ray'.")
    return run_on_ray(ordered(tasks), address) if on == "ray" else run_here(ordered(tasks))


def ordered(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks such that each comes after those it needs, otherwise in the order given."""
    place = {task.name: number for number, task in enumerate(tasks)}
    if len(place) < len(tasks):
        raise ValueError("Two tasks have the same name.")
    missing = {name for task in tasks for name in task.after} - place.keys()
    if missing:
        raise ValueError(f"Tasks are needed that there are not: {', '.join(sorted(missing))}.")
    sorter = TopologicalSorter({task.name: task.after for task in tasks})
    try:
        sorter.prepare()
    except CycleError as error:
        raise ValueError(f"Tasks need each other in a circle: {', '.join(error.args[1])}.") from None
    ready: list[int] = []
    result = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heappush(ready, place[name])
        task = tasks[heappop(ready)]
        result.append(task)
        sorter.done(task.name)
    return result


def attempt(name: str, work: Callable[..., Any], after: tuple[str, ...], *values: Any) -> Any | Failed:
    """Return what the work makes of the values, the last of which are results of `after`; or why it does not."""
    for other, result in zip(after, values[len(values) - len(after) :], strict=True):
        if isinstance(result, Failed):
            return Failed(name, f"needs {other}, which failed")
    try:
        return work(*values)
    except Exception as error:
        return Failed(name, described(error))


def described(error: Exception) -> str:
    """Return an error in one line; the text of those that may quote data gives way to the line of code they rose in."""
    if isinstance(error, AttarError | OSError):
        text = str(error)
    else:
        inside = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in inside[1:] if Path(frame.filename).is_relative_to(Path(__file__).parent)]
        last = (own or inside)[-1]
        text = f"raised in {Path(last.filename).name}, line {last.lineno}"
    return " ".join(f"{type(error).__name__}: {text}".split())


def run_here(tasks: Sequence[Task]) -> Iterator[tuple[str, Any | Failed]]:
    """Do the tasks one after another; a result is dropped once no later task needs it."""
    uses = Counter(name for task in tasks for name in task.after)
    kept: dict[str, Any] = {}
    for task in tasks:
        kept[task.name] = attempt(task.name, task.work, task.after, *task.given, *(kept[name] for name in task.after))
        for name in task.after:
            uses[name] -= 1
            if not uses[name]:
                del kept[name]
        yield task.name, kept[task.name] if uses[task.name] else kept.pop(task.name)


def run_on_ray(tasks: Sequence[Task], address: str | None) -> Iterator[tuple[str, Any | Failed]]:
    """Give all tasks to Ray, which passes results from node to node and does again what is lost with a node.

    A connection to Ray that this process has already is used and left open.
    """
    ray = load_ray()
    connects = not ray.is_initialized()
    if connects:
        connect(ray, address)
    waiting: dict[Any, Task] = {}
    failed = set()
    try:
        waiting = submit(ray, tasks)
        while waiting:
            done = ray.wait(list(waiting), num_returns=1)[0][0]
            task = waiting.pop(done)
            try:
                result = ray.get(done)
            except ray.exceptions.RayError as error:
                lost = [name for name in task.after if name in failed]
                result = Failed(task.name, f"needs {lost[0]}, which failed" if lost else undone(error))
            if isinstance(result, Failed):
                failed.add(task.name)
            del done
            yield task.name, result
            del result
    finally:
        for reference in waiting:
            ray.cancel(reference, force=True)
        if connects:
            ray.shutdown()


def submit(ray: Any, tasks: Sequence[Task]) -> dict[Any, Task]:
    """Return a reference to each task's result to come; what several tasks are given is stored once for all."""
    values = {id(value): value for task in tasks for value in task.given}
    uses = Counter(id(value) for task in tasks for value in task.given)
    stored = {key: ray.put(value) for key, value in values.items() if uses[key] > 1}
    remote = ray.remote(num_cpus=1, max_retries=RETRIES, runtime_env={"env_vars": numerics()})(attempt)
    references: dict[str, Any] = {}
    for task in tasks:
        given = [stored.get(id(value), value) for value in task.given]
        needed = [references[name] for name in task.after]
        references[task.name] = remote.remote(task.name, task.work, task.after, *given, *needed)
    return {references[task.name]: task for task in tasks}


def numerics() -> dict[str, str]:
    """Return the variables of this process that decide how JAX and BLAS round; its cores where they say nothing."""
    cores = str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
    threads = {
        "PJRT_NPROC": os.environ.get("PJRT_NPROC") or os.environ.get("NPROC") or cores,
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS") or cores,
    }
    return {name: value for name, value in os.environ.items() if name.startswith(("JAX_", "XLA_"))} | threads


def undone(error: Any) -> str:
    """Return in one line why Ray could not do a task at all: its process died, or did not know the function."""
    cause = getattr(error, "cause", None) or error
    return f"{type(cause).__name__}: {str(cause).strip().splitlines()[0]}"


def load_ray() -> Any:
    """Import Ray, told to send no statistics of use and to start workers with this interpreter as it is."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
    try:
        return import_module("ray")
    except ModuleNotFoundError:
        raise UserError("Running on Ray needs a package that is not installed: pip install 'attar[ray]'.") from None


def connect(ray: Any, address: str | None) -> None:
    """Connect to a cluster, or start one on this machine that ends with the connection.

    JAX warns of any fork beside its threads; Ray's become other programs at once.
    """
    if address is None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
            ray.init(address="local", include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        return
    try:
        if address != "auto":
            greet(ray, address)
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        raise UserError(
            f"No Ray cluster answers at {address!r} as it should ({type(error).__name__}). Start one with 'ray start "
            "--head --port 6379', which prints its address; run this on one of its machines, with the same versions of "
            "Python and Ray and the same token; see docs/scale.md."
        ) from None


def greet(ray: Any, address: str) -> None:
    """Raise OSError unless a server speaks as Ray does where Ray will look; Ray itself would knock for many minutes."""
    host, _, port = address.rpartition(":")
    if host in ("127.0.0.1", "localhost"):
        host = ray.util.get_node_ip_address()
    with socket.create_connection((host, int(port)), timeout=SECONDS_TO_ANSWER) as line:
        if os.environ.get("RAY_USE_TLS", "0").lower() not in ("1", "true"):
            line.sendall(HELLO)
            if line.recv(9)[3:4] != SETTINGS:
                raise ConnectionError

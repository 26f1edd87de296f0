"""How long work is shown: bars in a terminal, plain lines in a log file, nothing in a library call."""

import sys
import time
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

SECONDS_BETWEEN_LINES = 10.0


class Watch(Protocol):
    """What a long stage tells about itself."""

    def stage(self, title: str, total: int, done: int = 0) -> None:
        """Begin a stage of `total` steps, of which `done` were read back."""

    def update(self, done: int, note: str = "") -> None:
        """Say how far the stage is."""

    def say(self, text: str) -> None:
        """Tell the user something they should know."""


class Silent:
    """Shows nothing."""

    def stage(self, title: str, total: int, done: int = 0) -> None:
        """Show nothing."""

    def update(self, done: int, note: str = "") -> None:
        """Show nothing."""

    def say(self, text: str) -> None:
        """Show nothing."""


class Bars:
    """One bar a stage, with time left, on a terminal."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.progress = Progress(
            TextColumn("{task.description:<24}"),
            BarColumn(bar_width=30),
            TextColumn("{task.completed:>6.0f}/{task.total:.0f}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", style="dim"),
            console=console,
        )
        self.task: TaskID | None = None

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.stop()

    def stage(self, title: str, total: int, done: int = 0) -> None:
        """Open a new bar."""
        self.task = self.progress.add_task(title, total=total, completed=done, note="")

    def update(self, done: int, note: str = "") -> None:
        """Move the bar."""
        if self.task is not None:
            self.progress.update(self.task, completed=done, note=note)

    def say(self, text: str) -> None:
        """Print above the bars."""
        self.console.print(f"[yellow]note[/] {escape(text)}", highlight=False)


class Lines:
    """A line now and then, for log files."""

    def __init__(self) -> None:
        self.title, self.total, self.first = "", 0, 0
        self.began = self.told = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def stage(self, title: str, total: int, done: int = 0) -> None:
        """Say that a stage begins."""
        self.title, self.total, self.first = title, total, done
        self.began = self.told = time.monotonic()

    def update(self, done: int, note: str = "") -> None:
        """Say how far it is, at most every few seconds and at the end."""
        now = time.monotonic()
        if done < self.total and now - self.told < SECONDS_BETWEEN_LINES:
            return
        self.told, spent = now, now - self.began
        left = spent * (self.total - done) / max(1, done - self.first)
        tail = f"about {left:.0f} s left" if done < self.total else f"{spent:.1f} s"
        print(f"{self.title}: {done}/{self.total}, {tail}{', ' + note if note else ''}", file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        """Print a note."""
        print(f"note: {text}", file=sys.stderr, flush=True)

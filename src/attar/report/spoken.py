"""Numbers as a reader wants them: percentages, intervals, durations, lists in words."""

from collections.abc import Callable, Sequence
from typing import Any

PERCENT = "\N{NO-BREAK SPACE}%"


def percent(share: float) -> str:
    """Return a share as a percentage with one digit, more below one per cent."""
    return (f"{100 * share:.2g}" if 0 < abs(share) < 0.01 else f"{100 * share:.1f}") + PERCENT


def interval(estimate: dict[str, Any], say: Callable[[float], str]) -> str:
    """Return "low to high", or a dash where there is no interval."""
    if estimate["low"] is None:
        return "–"
    return f"{say(estimate['low']).removesuffix(PERCENT)} to {say(estimate['high'])}"


def number(value: float) -> str:
    """Return a number without needless digits."""
    return f"{value:g}"


def score(value: float) -> str:
    """Return a score with three digits."""
    return f"{value:.3f}"


def duration(seconds: float) -> str:
    """Return seconds as seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 1 else "less than 1 s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def size(count: int) -> str:
    """Return bytes in the largest unit of which there is one."""
    for unit, bytes_each in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= bytes_each:
            return f"{count / bytes_each:.3g} {unit}"
    return f"{count} bytes"


def listed(parts: Sequence[str]) -> str:
    """Return "a, b and c"."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)

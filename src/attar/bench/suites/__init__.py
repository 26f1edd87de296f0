"""The suites as files; a new one is a TOML file here and its name in order.toml."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


def names() -> list[str]:
    """Return the names of all suites, in the order of the paper."""
    return list(read("order")["suites"])


@cache
def read(name: str) -> dict[str, Any]:
    """Return what a file says."""
    return tomllib.loads((files(__package__) / f"{name}.toml").read_text(encoding="utf-8"))

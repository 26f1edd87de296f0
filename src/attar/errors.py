"""What attar raises when it cannot go on: what is wrong, where, and what to do."""

import difflib
from collections.abc import Iterable


class AttarError(Exception):
    """Base of every error attar raises itself."""


class UserError(AttarError):
    """Something the user can mend; the command line prints it without a traceback and exits with 2."""


class DataError(UserError):
    """The cohort's file or columns cannot be used as they are."""


class RecipeError(UserError):
    """A setting is unknown, malformed or out of its legal range."""


class RunError(UserError):
    """The run folder is in use, belongs to another run, or cannot be written."""


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a sentence that suggests the closest of `names`, or lists them if they are few, or nothing."""
    known = [str(n) for n in names]
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return " Did you mean " + " or ".join(repr(c) for c in close) + "?"
    return " Known: " + ", ".join(known) + "." if len(known) <= 20 else ""

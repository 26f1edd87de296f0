"""attar: a clinical cohort in, a few hundred synthetic patients and their scores out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attar.cohort import Cohort, Schema
    from attar.condensed import Condensed
    from attar.condenser import Condenser
    from attar.errors import AttarError, UserError
    from attar.methods import METHODS
    from attar.models import MODELS
    from attar.recipe import Recipe
    from attar.run import load

__version__ = "0.1.0"

_HOMES = {
    "AttarError": "errors",
    "Cohort": "cohort",
    "Condensed": "condensed",
    "Condenser": "condenser",
    "METHODS": "methods",
    "MODELS": "models",
    "Recipe": "recipe",
    "Schema": "cohort",
    "UserError": "errors",
    "load": "run",
}

__all__ = [
    "METHODS",
    "MODELS",
    "AttarError",
    "Cohort",
    "Condensed",
    "Condenser",
    "Recipe",
    "Schema",
    "UserError",
    "load",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import attar` stays fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'attar' has no attribute {name!r}")
    return getattr(import_module(f"attar.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__

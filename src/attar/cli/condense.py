"""attar condense, and attar demo, which is the same on a built-in cohort."""

from pathlib import Path
from typing import Annotated, Any

import typer

from attar.cli.options import (
    CohortName,
    Drop,
    Features,
    Groups,
    Id,
    Json,
    Kinds,
    Method,
    Out,
    PerClass,
    Positive,
    Quiet,
    RecipeName,
    Seed,
    Set,
    ShareFolder,
    Target,
)
from attar.cli.work import finish, read
from attar.errors import DataError


def demo(
    out: Annotated[Path, typer.Option(help="Run folder; an interrupted demo there is continued.")] = Path("attar-demo"),
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Condense 9,105 seriously ill hospital patients into 100 synthetic ones, in about a minute."""
    _condense("support2", {}, None, {}, out, None, quiet, as_json)


def condense(
    cohort: CohortName,
    target: Target = None,
    per_class: PerClass = None,
    method: Method = None,
    out: Out = None,
    recipe: RecipeName = None,
    settings: Set = None,
    seed: Seed = None,
    share: ShareFolder = None,
    patient: Id = None,
    groups: Groups = None,
    features: Features = None,
    drop: Drop = None,
    kinds: Kinds = None,
    positive: Positive = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Condense a cohort and score what models trained on the result reach."""
    from attar.recipe import parse_overrides

    roles = {
        "target": target or None,
        "features": features or None,
        "drop": drop or [],
        "id": patient,
        "groups": groups or [],
        "kinds": _kinds(kinds or []),
        "positive": positive,
    }
    own = {"method": method, "per_class": per_class, "seed": seed}
    overrides = {key: value for key, value in own.items() if value is not None} | parse_overrides(settings or [])
    folder = out or Path(f"attar-{Path(cohort).name.split('.')[0]}")
    _condense(cohort, roles, recipe, overrides, folder, share, quiet, as_json)


def _condense(
    name: str,
    roles: dict[str, Any],
    recipe: str | None,
    overrides: dict[str, Any],
    out: Path,
    share: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    from attar.cohort.builtin import CATALOGUE
    from attar.recipe import load

    resolved = load(recipe or "default", overrides)
    cohort = read(name, roles, quiet or as_json)
    if recipe is None:
        resolved = load(cohort.recipe, overrides)
    from attar.explain import explain
    from attar.progress import Watch
    from attar.run import condense_cohort
    from attar.store import Run

    path = name if name in CATALOGUE else str(Path(name).resolve())
    source = {"path": path, **roles}

    def work(watch: Watch) -> dict[str, Any]:
        scores = condense_cohort(cohort, resolved, out, watch, source, share).scores
        explain(cohort, out, watch)
        return {**scores, "verdict": Run(out).read_json("report.json")["verdict"]}

    finish(work, out, quiet, as_json)


def _kinds(pairs: list[str]) -> dict[str, str]:
    kinds = dict(pair.rpartition("=")[::2] for pair in pairs)
    if "" in kinds:
        raise DataError(f"--kind {kinds['']!r} is not of the form COL=KIND, as in --kind ward=categorical.")
    return kinds

"""From a run folder to its geometry: geometry.json and the pictures beside it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attar import figures
from attar.cohort import Cohort
from attar.errors import RunError
from attar.geometry import breadth, pictures, shown
from attar.geometry.bend import bend, is_quadratic
from attar.geometry.bounds import bounds
from attar.geometry.case import Case, line_up
from attar.geometry.prior import classes, split
from attar.geometry.supervise import instead
from attar.methods import method
from attar.progress import Silent, Watch
from attar.recipe import Recipe
from attar.run import begin_again
from attar.storage import Vault
from attar.store import Folder, Run


def analyse(
    cohort: Cohort, folder: str | Path, compare: Sequence[str] = (), watch: Watch | None = None
) -> dict[str, Any]:
    """Analyse a finished run, beside other methods on its teachers if any are named; writes geometry.json and pictures.

    A comparison trains teachers again where it needs their every epoch, and condenses anew for each method.
    """
    with Run(folder) as run:
        recipe = run.settled()
        if method(recipe.method).choose:
            raise RunError(
                f"The run in {folder} picked real patients ({recipe.method}): it followed no path and has no geometry. "
                "Give a run of a method that condenses, such as btm."
            )
        others = [instead(recipe, name) for name in dict.fromkeys(compare) if name != recipe.method]
        begun = begin_again(cohort, run)
        stored = Vault(begun.model, recipe).unpack_teachers(run.read_arrays("teachers.safetensors"))
        case = Case(run, begun, recipe, stored[:, [0, -1]], watch or Silent())
        result = measure(case, others)
        beside, drawn = Folder(run.folder / "geometry"), pictures.draw(result)
        for picture in drawn:
            beside.write(f"{picture.name}.svg", figures.svg(picture.figure, picture.alt))
            beside.write(f"{picture.name}.png", figures.png(picture.figure))
        result["figures"] = [picture.words() for picture in drawn]
        run.write_json("geometry.json", result)
    return result


def measure(case: Case, others: Sequence[Recipe]) -> dict[str, Any]:
    """Return all numbers of a run's geometry, and of other methods' on its cohort."""
    model, data, recipe = case.begun.model, case.begun.data, case.recipe
    lineup = line_up(case, others)
    supervisions = lineup.supervisions
    found = {name: bounds(model, supervision, case.watch) for name, supervision in supervisions.items()}
    when = breadth.times(model, len(case.ends), recipe)
    curved = next((each for each in supervisions.values() if is_quadratic(each.paths)), None)
    patients = classes(model, data.x_train, data.y_train)
    return {
        "method": recipe.method,
        "segments": {"teachers": len(case.ends), "each": when.start.shape[1], "length": breadth.LENGTH},
        "spectrum": shown.spectra(case, lineup, when),
        "bounds": {name: each.facts for name, each in found.items()},
        "curves": bend(model, curved, data.x_train, when, lineup.trainings) if curved else {},
        "prior": {
            prior: split(model, ends[: breadth.PROFILED, 0], ends[: breadth.PROFILED, 1], patients)
            for prior, ends in case.ends_by_prior(bool(others)).items()
        },
        "residual_by_tensor": {name: each.residual for name, each in found.items()},
        "matching": shown.matching(lineup),
        "along": shown.losses_along(case, lineup),
        "plane": shown.plane(case, lineup),
        "storage": shown.storage(case),
    }

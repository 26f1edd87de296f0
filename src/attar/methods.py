"""The table of methods: a method is a row, and nothing else in attar asks for its name.

A row names the teachers' optimiser, the path and the segment sampler (rows of `teach.OPTIMISERS`, `paths.PATHS` and
`segments.SAMPLERS`) and whatever other settings the method is known by. They are laid over the default recipe, so that
the resolved recipe says all that a run does and any of them can be changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from attar.errors import RecipeError, nearest


@dataclass(frozen=True)
class Method:
    """What a method changes in the default recipe; or, with `choose`, how it picks real rows and trains nothing."""

    title: str
    optimiser: str = "sgd"
    path: str = "bezier"
    segments: str = "uniform"
    options: Mapping[str, Any] = field(default_factory=dict)
    choose: str | None = None
    """A row of `coreset.CORESETS`, for methods that only pick real patients."""

    def settings(self) -> dict[str, Any]:
        """Return the method's settings by dotted name."""
        parts = {"teachers.optimiser": self.optimiser, "path.kind": self.path, "segments.sampler": self.segments}
        return parts | dict(self.options)


EPOCH_BY_EPOCH = {
    "student.steps": 60,
    "student.match": "parameters",
    "student.moments": 1,
    "student.gradient": "first-order",
    "inputs.step_size": 0.1,
    "inputs.harden": 0.0,
    "inputs.decay": 0.0,
    "inputs.average": 0.0,
    "selection.keep": "best",
    "selection.every": 25,
}
"""Methods that follow a few epochs of a training at a time match parameters, as their authors do, and are moved by
small steps whose best version is kept: on validation patients that serves them better than what serves a whole path."""

FLAT_TEACHERS = {"teachers.decay": "linear"}

METHODS: dict[str, Method] = {
    "btm": Method("Bezier Trajectory Matching"),
    "mtt": Method("Matching Training Trajectories", path="checkpoints", segments="epochs", options=EPOCH_BY_EPOCH),
    "ftd": Method(
        "Flat Trajectory Distillation",
        optimiser="gsam",
        path="checkpoints",
        segments="epochs",
        options=EPOCH_BY_EPOCH | FLAT_TEACHERS,
    ),
    "datm": Method(
        "Difficulty-Aligned Trajectory Matching",
        optimiser="gsam",
        path="checkpoints",
        segments="staged",
        options=EPOCH_BY_EPOCH | FLAT_TEACHERS,
    ),
    "mct": Method("Matching Convexified Trajectories", path="convexified"),
    "line": Method("straight line between a teacher's ends", path="line"),
    "convex-line": Method("straight line walked tensor by tensor", path="convexified", options={"path.anchors": 2}),
    "full": Method("all real patients", choose="everyone"),
    "random": Method("random real patients, as many of each class", choose="random"),
    "herding": Method("real patients whose mean is the class mean", choose="herding"),
    "k-centre": Method("real patients that lie near all others", choose="k-centre"),
}


def method(name: str) -> Method:
    """Return a row of the table by its name."""
    if name not in METHODS:
        raise RecipeError(f"There is no method {name!r}.{nearest(name, METHODS)}")
    return METHODS[name]

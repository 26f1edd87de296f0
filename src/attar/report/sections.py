"""The table of sections: a section is a row here and a template of its name; one without facts is left out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from attar.report import course, geometry, limits, marginals, pictures, provenance, training, utility
from attar.report.source import Facts, Source
from attar.store import Run

Pictures = Mapping[str, str]


def _none(run: Run, facts: Facts) -> Pictures:
    return {}


@dataclass(frozen=True)
class Section:
    """A heading, how its facts are gathered (None: nothing to say), and how their pictures are drawn as SVG."""

    heading: str
    facts: Callable[[Source], Facts | None]
    pictures: Callable[[Run, Facts], Pictures] = _none


SECTIONS: dict[str, Section] = {
    "utility": Section("Utility: what models learn from it", utility.facts, pictures.utility),
    "models": Section("Other models", utility.models, pictures.models),
    "external": Section("Patients from elsewhere", utility.external),
    "course": Section("How the run went", course.facts, pictures.course),
    "geometry": Section("Geometry", geometry.facts, geometry.pictures),
    "patients": Section("Condensed beside real patients", marginals.facts, pictures.patients),
    "training": Section("How to train on it", training.facts),
    "limits": Section("Limits", limits.facts),
    "provenance": Section("Provenance", provenance.facts),
}

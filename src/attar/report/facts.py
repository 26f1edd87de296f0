"""Every fact that the page shows, gathered section by section into what becomes report.json."""

from typing import Any

from attar.report.opening import opening
from attar.report.sections import SECTIONS
from attar.report.source import Facts, read
from attar.store import Run


def gather(run: Run) -> Facts:
    """Return the facts of a finished run: the opening, and the sections that have something to say."""
    source = read(run)
    sections: dict[str, Any] = {}
    for name, section in SECTIONS.items():
        found = section.facts(source)
        if found is not None:
            sections[name] = found
    return {**opening(source, sections), "sections": sections}

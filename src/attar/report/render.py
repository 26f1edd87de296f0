"""From facts to one page that stands alone: no script, no outside reference, every name escaped."""

from markupsafe import Markup

from attar.report import spoken
from attar.report.loading import templates
from attar.report.sections import SECTIONS
from attar.report.source import Facts
from attar.store import Run


def page(run: Run, facts: Facts) -> str:
    """Return the page; pictures are drawn from the facts, those of the geometry read from the run folder."""
    pages = templates("templates", escaped=True)
    pages.filters |= {"percent": spoken.percent, "score": spoken.score, "number": spoken.number}
    pages.filters["interval"] = lambda estimate: spoken.interval(estimate, spoken.score)
    pages.filters["percents"] = lambda estimate: spoken.interval(estimate, spoken.percent)
    style = pages.get_template("style.css").render()
    sections = [
        {
            "name": name,
            "heading": SECTIONS[name].heading,
            "facts": found,
            "pictures": {key: Markup(text) for key, text in SECTIONS[name].pictures(run, found).items()},
        }
        for name, found in facts["sections"].items()
    ]
    return pages.get_template("page.html.j2").render(facts, style=Markup(style), shown=sections)

"""From facts to one page that stands alone: no script, no outside reference, every name escaped."""

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from attar.report import spoken
from attar.report.sections import SECTIONS
from attar.report.source import Facts
from attar.store import Run


def page(run: Run, facts: Facts) -> str:
    """Return the page; pictures are drawn from the facts, those of the geometry read from the run folder."""
    templates = Environment(
        loader=PackageLoader("attar.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"percent": spoken.percent, "score": spoken.score, "number": spoken.number}
    templates.filters["interval"] = lambda estimate: spoken.interval(estimate, spoken.score)
    templates.filters["percents"] = lambda estimate: spoken.interval(estimate, spoken.percent)
    style = templates.get_template("style.css").render()
    sections = [
        {
            "name": name,
            "heading": SECTIONS[name].heading,
            "facts": found,
            "pictures": {key: Markup(text) for key, text in SECTIONS[name].pictures(run, found).items()},
        }
        for name, found in facts["sections"].items()
    ]
    return templates.get_template("page.html.j2").render(facts, style=Markup(style), shown=sections)

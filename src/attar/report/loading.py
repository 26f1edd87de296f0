"""How templates are read, those of the page and those of the listings."""

from jinja2 import Environment, PackageLoader, StrictUndefined


def templates(folder: str, escaped: bool) -> Environment:
    """Return the templates of a folder of this package; what they lack is an error, never a gap."""
    return Environment(
        loader=PackageLoader("attar.report", folder),
        autoescape=escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

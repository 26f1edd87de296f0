"""The pictures that `attar geometry` left in the run folder, taken into the page."""

from pathlib import PurePath
from xml.etree import ElementTree

from attar.errors import RunError
from attar.figures import LINK, SVG
from attar.report.source import Facts, Source
from attar.store import Run

TAGS = {"svg", "g", "defs", "use", "clipPath", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon"}
TAGS |= {"text", "tspan", "title", "image"}
"""Elements that a picture needs; others, scripts above all, are left out."""


def facts(source: Source) -> Facts | None:
    """Return name, title, caption and description of each picture, if there are any."""
    if not source.run.has("geometry.json"):
        return None
    figures = source.run.read_json("geometry.json").get("figures", [])
    kept = [
        {key: str(figure[key]) for key in ("name", "title", "caption", "alt")}
        for figure in figures
        if source.run.has(_file(figure["name"]))
    ]
    return {"figures": kept} if kept else None


def pictures(run: Run, facts: Facts) -> dict[str, str]:
    """Return each picture as SVG that is safe inside a page."""
    return {
        figure["name"]: inside(run.folder / _file(figure["name"]), figure["alt"], f"geometry{number}")
        for number, figure in enumerate(facts["figures"])
    }


def inside(path: PurePath, alt: str, prefix: str) -> str:
    """Return an SVG file with only what a picture needs, no outside reference, and ids that begin with `prefix`."""
    try:
        with open(path, "rb") as file:
            root = ElementTree.parse(file).getroot()
    except ElementTree.ParseError:
        raise RunError(f"{path} is damaged. Run attar geometry again to make it anew.") from None
    _clean(root, prefix)
    for title in root.findall("title"):
        root.remove(title)
    title = ElementTree.Element("title")
    title.text = alt
    root.insert(0, title)
    root.set("role", "img")
    return ElementTree.tostring(root, encoding="unicode")


def _clean(element: ElementTree.Element, prefix: str) -> None:
    element.tag = element.tag.removeprefix(f"{{{SVG}}}")
    kept = {}
    for key, value in element.attrib.items():
        name = key.removeprefix(f"{{{LINK}}}")
        if name == "id":
            kept[name] = f"{prefix}-{value}"
        elif name == "href" and value.startswith("#"):
            kept[name] = f"#{prefix}-{value[1:]}"
        elif name == "href" and value.startswith("data:image/png;base64,"):
            kept[name] = value
        elif not (name == "href" or name.startswith(("on", "{"))) and _local(value):
            kept[name] = value.replace("url(#", f"url(#{prefix}-")
    element.attrib = kept
    for child in list(element):
        if not isinstance(child.tag, str) or child.tag.removeprefix(f"{{{SVG}}}") not in TAGS:
            element.remove(child)
        else:
            _clean(child, prefix)


def _local(value: str) -> bool:
    """Tell whether a value points at nothing outside the picture."""
    return "url(" not in value.replace("url(#", "") and "\\" not in value and "@import" not in value


def _file(name: str) -> str:
    return f"geometry/{PurePath(name).name}.svg"

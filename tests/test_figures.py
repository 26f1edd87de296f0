"""The house style: the same bytes, words as words, colours that a page can set and colour-blind readers can tell."""

import re
from importlib.resources import files
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

from attar import figures

STYLE = files("attar.report").joinpath("templates/style.css").read_text()


def drawn(title="a title", height=2):
    figure = figures.blank(3, height)
    axes = figure.subplots()
    for name, look in figures.PALETTE.items():
        axes.plot([0, 1], [0, 1], color=look.colour, linestyle=look.line, marker=look.marker, label=name)
    axes.set_title(figures.plain(title))
    axes.legend()
    return figure


def test_svg_is_the_same_whenever_it_is_drawn_alike():
    assert figures.svg(drawn(), "alt") == figures.svg(drawn(), "alt") != figures.svg(drawn("another"), "alt")


def test_svg_is_a_picture_with_words_and_without_a_world_around_it():
    text = figures.svg(drawn("sodium <mmol/l>"), "what & what").decode()
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img"
    assert root.findtext(f"{space}title") == "what & what"
    assert "sodium <mmol/l>" in [node.text for node in root.iter(f"{space}text")]
    assert set(re.findall(r"https?://[^\"']*", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(script|style|image|metadata|foreignObject)", text)


def test_references_inside_an_svg_hold_and_ids_differ_between_figures():
    texts = [figures.svg(drawn(), "one").decode(), figures.svg(drawn(), "two").decode()]
    ids = [set(re.findall(r' id="([^"]+)"', text)) for text in texts]
    for text, own in zip(texts, ids, strict=True):
        used = set(re.findall(r'(?:href="|url\()#([^")]+)', text))
        assert used
        assert used <= own
    assert not ids[0] & ids[1]


def test_every_colour_is_one_that_a_page_can_set():
    text = figures.svg(drawn()).decode()
    set_by_page = set(re.findall(r"var\(--(\w+), #", text))
    assert {"ink", "faint", "rule", *figures.PALETTE} == set_by_page
    left = re.sub(r"var\([^)]*\)", "", re.sub(r'(id|href|clip-path)="[^"]*"', "", text))
    assert not re.findall(r"#[0-9a-f]{6}", left)
    for name in set_by_page:
        assert len(re.findall(rf"--{name}: #", STYLE)) == 2, name


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "cost $ a $ b", r"\frac{$x$", "a\x00b\nc", "漢字 µg"])
def test_a_name_from_the_data_is_shown_as_it_is(name):
    text = figures.svg(drawn(name)).decode()
    words = [node.text for node in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]
    assert name.replace("\x00", " ").replace("\n", " ") in words
    assert figures.png(drawn(name)).startswith(b"\x89PNG")


def test_a_long_name_is_cut():
    assert figures.plain("x" * 100, 10) == "x" * 9 + "…"


def test_the_picture_of_models_is_a_png():
    score = {"auprc": {"mean": 0.5, "std": 0.1}}
    results = {"models": {"mlp": dict.fromkeys(figures.ARMS, score)}, "method": "btm", "per_class": 5}
    assert figures.models(results).startswith(b"\x89PNG")


def themes():
    light, dark = STYLE.split("@media screen and (prefers-color-scheme: dark)")
    return {
        "light": dict(re.findall(r"--(\w+): (#\w{6})", light)),
        "dark": dict(re.findall(r"--(\w+): (#\w{6})", dark.split("* {")[0])),
    }


def linear(colour):
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    low, high = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_and_lines_stand_out_in_both_themes(theme):
    colours = themes()[theme]
    for ground in (colours["paper"], colours["wash"]):
        for name in ("ink", "faint", "link"):
            assert contrast(colours[name], ground) >= 4.5, name
    for name in figures.PALETTE:
        assert contrast(colours[name], colours["paper"]) >= 3, name


def test_the_page_starts_from_the_colours_of_the_figures():
    light = themes()["light"]
    assert {name: light[name] for name in figures.VARIABLES.values()} == {n: c for c, n in figures.VARIABLES.items()}


def test_no_two_looks_share_line_or_marker():
    for one, other in combinations(figures.PALETTE.values(), 2):
        assert one.line != other.line
        assert one.marker != other.marker

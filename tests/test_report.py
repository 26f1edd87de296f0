"""The report: facts that are those of the run, a page that needs nothing else, and nothing in it about one patient."""

import json
import shutil
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attar import recipe, report, run
from attar.cohort import Cohort
from attar.errors import RunError
from attar.export import read
from attar.prepare import prepare
from attar.report import marginals, opening, source, spoken, utility
from attar.report.sections import SECTIONS
from attar.store import Run
from reported import HOSTILE, described, poisoned, series_run, tables

NAMES = {
    "small": HOSTILE[0],
    "hospdead": HOSTILE[1],
    "age": HOSTILE[0],
    "dzgroup": HOSTILE[1],
    "race": HOSTILE[2],
    "white": HOSTILE[0],
    "CHF": HOSTILE[1],
    "logistic": HOSTILE[0],
    "elsewhere": HOSTILE[1],
    "ph": HOSTILE[0],
    "Paths of the teachers": HOSTILE[0],
    "A caption with 3 numbers.": HOSTILE[1],
    "A rising line": HOSTILE[1],
}


class Page(HTMLParser):
    """What a page holds: its elements in order, with the text inside headings."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    def having(self, name):
        return [attrs[name] for _, attrs in self.elements if name in attrs]

    @property
    def text(self):
        return "".join(self.words)


@pytest.fixture(scope="module")
def folder(finished, small_cohort, tmp_path_factory):
    """The folder of a run with everything a report can show, its report written."""
    made = described(finished, small_cohort, tmp_path_factory.mktemp("reports") / "run")
    report.write(made)
    return made


@pytest.fixture(scope="module")
def facts(folder):
    return json.loads((folder / "report.json").read_text())


@pytest.fixture(scope="module")
def page(folder):
    return Page((folder / "report.html").read_text())


def test_the_same_run_gives_the_same_bytes(folder, tmp_path):
    again = shutil.copytree(folder, tmp_path / "again")
    assert report.write(again) == again / "report.html"
    for name in ("report.json", "report.html"):
        assert (again / name).read_bytes() == (folder / name).read_bytes()


def test_facts_are_those_of_the_run(folder, facts):
    scores = json.loads((folder / "scores.json").read_text())["arms"]
    for arm in facts["sections"]["utility"]["arms"]:
        for metric in ("auroc", "auprc"):
            assert arm[metric]["mean"] == pytest.approx(scores[arm["arm"]][metric]["mean"], abs=1e-4)
            assert arm[metric]["low"] is None or arm[metric]["low"] <= arm[metric]["mean"] <= arm[metric]["high"]
        share = scores[arm["arm"]]["auprc"]["mean"] / scores["full"]["auprc"]["mean"]
        assert arm["share"]["mean"] == pytest.approx(share, abs=1e-3)
    settings = {row["name"]: row["value"] for row in facts["sections"]["provenance"]["settings"]}
    assert set(settings) == set(recipe.load(folder / "recipe.toml").flat())
    history = pd.read_parquet(folder / "history.parquet")
    assert facts["sections"]["course"]["loss"][-1]["iteration"] == len(history)
    means = [row["mean"] for row in facts["sections"]["course"]["loss"]]
    assert np.mean(means) == pytest.approx(history["loss"].mean(), rel=1e-3)


def test_sections_without_facts_are_left_out(finished, folder, facts, tmp_path):
    assert list(facts["sections"]) == list(SECTIONS)
    plain = shutil.copytree(finished, tmp_path / "plain")
    for extra in ("marginals.json", "geometry.json", "models.json"):
        (plain / extra).unlink(missing_ok=True)
    report.write(plain)
    sections = json.loads((plain / "report.json").read_text())["sections"]
    assert set(SECTIONS) - set(sections) == {"models", "external", "geometry", "patients"}


def test_the_page_is_one_small_file_that_points_nowhere(folder, page):
    assert (folder / "report.html").stat().st_size < 5_000_000
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    assert all(target.startswith("#") for target in page.having("href"))
    assert not page.having("src")
    text = (folder / "report.html").read_text()
    assert all(part.startswith("www.w3.org/2000/svg") for part in text.split("http://")[1:])
    assert "https://" not in text
    assert "@import" not in text


def test_the_page_is_well_made(page):
    ids = page.having("id")
    assert len(ids) == len(set(ids))
    named = {part for value in page.having("aria-labelledby") for part in value.split()}
    assert named | {target[1:] for target in page.having("href")} <= set(ids)
    levels = [int(tag[1]) for tag, _ in page.elements if tag in ("h1", "h2", "h3")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    tags = [tag for tag, _ in page.elements]
    assert tags.count("table") == tags.count("caption") > 3
    assert all("scope" in attrs for tag, attrs in page.elements if tag == "th")
    assert tags.count("svg") == sum(attrs.get("role") == "img" for tag, attrs in page.elements if tag == "svg") > 10


def test_hostile_names_are_shown_and_do_nothing(folder, tmp_path):
    bad = poisoned(shutil.copytree(folder, tmp_path / "bad"), NAMES)
    text = report.write(bad).read_text()
    shown = Page(text)
    assert "script" not in {tag for tag, _ in shown.elements}
    assert "img" not in {tag for tag, _ in shown.elements}
    assert not any(name.startswith("on") for _, attrs in shown.elements for name in attrs)
    for name in HOSTILE:
        assert shown.text.count(name) >= 2
    assert "{{ 7 * 7 }}" in shown.text


def test_no_path_and_no_machine_name_reaches_the_report(finished, tmp_path):
    moved = shutil.copytree(finished, tmp_path / "moved")
    manifest = json.loads((moved / "manifest.json").read_text())
    manifest["cohort"]["source"] = {"path": "/ward/7/secret.csv"}
    (moved / "manifest.json").write_text(json.dumps(manifest))
    report.write(moved)
    for name in ("report.json", "report.html"):
        text = (moved / name).read_text()
        assert "/ward" not in text
        assert str(tmp_path) not in text


def test_an_unfinished_run_has_no_report(finished, tmp_path):
    with pytest.raises(RunError, match="not an attar run folder"):
        report.write(tmp_path)
    half = shutil.copytree(finished, tmp_path / "half")
    (half / "scores.json").unlink()
    with pytest.raises(RunError, match=r"no scores\.json yet"):
        report.write(half)


def test_real_patients_that_were_picked_are_called_so(folder, tmp_path):
    picked = shutil.copytree(folder, tmp_path / "picked")
    (picked / "recipe.toml").write_text(recipe.load("default", {"method": "herding", "per_class": 10}).toml())
    (picked / "history.parquet").unlink()
    text = report.write(picked).read_text()
    sections = json.loads((picked / "report.json").read_text())["sections"]
    assert not {"patients", "course"} & set(sections)
    assert "These are real patients" in sections["limits"]["limits"][0]
    assert "chosen real patients" in text


def test_guards_are_told_in_words(finished, tmp_path):
    hit = shutil.copytree(finished, tmp_path / "hit")
    manifest = json.loads((hit / "manifest.json").read_text())
    manifest["guards"] = {"skipped": 12, "rolled_back": 1}
    (hit / "manifest.json").write_text(json.dumps(manifest))
    assert "12 of 60 steps were skipped" in report.write(hit).read_text()


def test_an_svg_from_the_folder_is_cleaned(folder, tmp_path):
    bad = shutil.copytree(folder, tmp_path / "bad")
    (bad / "marginals.json").unlink()
    (bad / "geometry/paths.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script><foreignObject/>'
        '<style>@import "x"</style><rect id="r" style="fill: url(http://x/y)"/><use href="http://x/z"/>'
        '<use href="#r"/><path clip-path="url(#r)"/></svg>'
    )
    found = Page(report.write(bad).read_text())
    geometry = [attrs for _, attrs in found.elements if "geometry0-" in str(attrs)]
    expected = [{"id": "geometry0-r"}, {"href": "#geometry0-r"}, {"clip-path": "url(#geometry0-r)"}]
    assert geometry == expected
    assert not {"script", "foreignobject"} & {tag for tag, _ in found.elements}
    assert "alert" not in found.text
    (bad / "geometry/paths.svg").write_text("<svg")
    with pytest.raises(RunError, match="damaged"):
        report.write(bad)


def test_a_figure_outside_the_run_is_not_read(folder, tmp_path):
    bad = shutil.copytree(folder, tmp_path / "bad")
    (bad / "marginals.json").unlink()
    (tmp_path / "secret.svg").write_text("<svg/>")
    words = {"title": "t", "caption": "c", "alt": "a"}
    (bad / "geometry.json").write_text(json.dumps({"figures": [{"name": "../../secret", **words}]}))
    report.write(bad)
    assert "geometry" not in json.loads((bad / "report.json").read_text())["sections"]


def executed(folder, monkeypatch, *keys):
    """Run listings of a report one after the other, as printed."""
    monkeypatch.chdir(folder)
    listings = json.loads((folder / "report.json").read_text())["sections"]["training"]["listings"]
    code = {listing["key"]: listing["code"] for listing in listings}
    compile(code["torch"], "torch", "exec")
    names = {}
    for key in keys:
        exec(code[key], names)
    return names


def test_the_listings_for_tables_run_as_printed(folder, small_cohort, monkeypatch):
    names = executed(folder, monkeypatch, "read", "sklearn")
    preparation, targets = run.load(folder).preparation, small_cohort.schema.targets
    x, y = read(Run(folder), preparation, targets)
    np.testing.assert_array_equal(names["x"], x)
    np.testing.assert_array_equal(names["y"], y)
    real = small_cohort.frame
    assert real.isna().to_numpy().any()
    np.testing.assert_array_equal(names["inputs"](real), preparation.transform(real))
    assert names["model"].n_iter_ == run.load(folder).scores["arms"]["condensed"]["epochs"]
    risk, prevalence = names["risk"], small_cohort.labels.mean()
    assert ((names["probability"] < risk) == (prevalence < 0.5)).all()


@pytest.mark.parametrize("labels", [1, 2])
def test_the_listings_for_series_run_as_printed(labels, tmp_path, monkeypatch):
    here = series_run(tmp_path / "series", labels)
    report.write(here.folder)
    names = executed(here.folder, monkeypatch, "read", "sklearn")
    kept = here.read_arrays("condensed.safetensors")
    layout = run.load(here.folder).preparation.layout
    np.testing.assert_allclose(names["x"], np.asarray(layout.series(kept["x"])), atol=1e-5)
    np.testing.assert_array_equal(names["y"], kept["y"])
    assert names["probability"].shape == (40, labels)
    assert ("labels-caption" in (here.folder / "report.html").read_text()) == (labels > 1)


def test_series_are_summarised_by_hour(tmp_path):
    here = series_run(tmp_path / "series")
    found = here.read_json("marginals.json")
    assert [channel["name"] for channel in found["channels"]] == ["HR"]
    assert found["channels_of"] == 2
    values = tables(here)["condensed"].query("channel == 'HR'").groupby("hour")["value"].mean()
    np.testing.assert_allclose(found["channels"][0]["condensed"], values, rtol=0.02)


def numbers_in(value):
    if isinstance(value, dict):
        return [number for part in value.values() for number in numbers_in(part)]
    if isinstance(value, list):
        return [number for part in value for number in numbers_in(part)]
    return [value] if isinstance(value, int | float) else []


def test_marginals_of_real_patients_tell_of_no_one(small_cohort, folder):
    found = json.loads((folder / "marginals.json").read_text())
    train = small_cohort.frame.iloc[small_cohort.split(0).train]
    for column in found["columns"]:
        real = train[column["name"]].dropna()
        if column["kind"] == "numeric":
            ends = np.sort(real.to_numpy())
            shown = numbers_in({key: column[key] for key in ("edges", "quartiles")})
            step = 0.01 * (ends[-10] - ends[9])
            assert min(shown) >= ends[9] - step, column["name"]
            assert max(shown) <= ends[-10] + step, column["name"]
            counts = np.array(column["real"]) * len(real)
            assert counts.min() >= marginals.FEWEST - 0.5
            assert sum(column["real"]) == pytest.approx(1, abs=1e-3)
        elif "values" in column:
            few = {str(value) for value, count in real.value_counts().items() if count < marginals.FEWEST}
            assert not few & set(column["values"])


def test_rare_values_and_gaps_are_not_counted_out():
    rare = ["b"] * 4 + ["c"] * 3
    frame = pd.DataFrame({"kind": ["a"] * 200 + rare + ["d"] * 93, "died": np.arange(300) % 3 == 0})
    frame["gap"] = np.where(np.arange(300) < 5, np.nan, np.arange(300.0))
    frame["scarce"] = np.where(np.arange(300) < 270, np.nan, np.arange(300.0))
    cohort = Cohort.of(frame.astype({"died": int}), "died")
    column = {part.name: part for part in cohort.schema.columns}
    kind = marginals.beside(column["kind"], cohort.frame["kind"], cohort.frame["kind"])
    assert kind["values"] == ["a", "d", "other (fewer than 10)"]
    assert kind["real"] == [pytest.approx(200 / 293, abs=1e-4), pytest.approx(93 / 293, abs=1e-4), None]
    assert marginals.beside(column["gap"], cohort.frame["gap"], cohort.frame["gap"])["missing"]["real"] is None
    scarce = marginals.beside(column["scarce"], cohort.frame["scarce"], cohort.frame["scarce"])
    assert scarce == {"name": "scarce", "kind": column["scarce"].kind, "withheld": True}


@given(st.lists(st.floats(-1e6, 1e6), min_size=40, max_size=200), st.booleans())
def test_no_bin_holds_fewer_than_ten(values, whole):
    array = np.rint(values) if whole else np.array(values)
    low, high = marginals.inner_range(array)
    edges = marginals.joined(marginals.edges_between(low, high, whole), array)
    counts = np.histogram(np.clip(array, edges[0], edges[-1]), edges)[0]
    assert counts.sum() == len(array)
    assert counts.min() >= marginals.FEWEST


def test_intervals_know_what_belongs_together(rng):
    draws = rng.normal(0.5, 0.1, 8)
    values = np.repeat(draws, 10) + rng.normal(0, 0.001, 80)
    together, alone = utility.grouped(list(values), 8), utility.grouped(list(values), 1)
    assert together.shape == (8, 10)
    wide, narrow = utility.estimate(together), utility.estimate(alone)
    assert wide["mean"] == narrow["mean"]
    assert wide["high"] - wide["low"] > 2 * (narrow["high"] - narrow["low"])
    assert utility.estimate(alone[:2])["low"] is None


def test_the_interval_of_a_share_allows_for_who_was_tested(rng):
    known = {"mean": 0.9, "low": 0.89, "high": 0.91}
    values, full = rng.uniform(0.4, 0.5, 20), np.full(20, 0.5)
    error = 1.96 * np.sqrt(19 / 20 * np.sum((values / full - np.mean(values / full)) ** 2))
    found = utility.widened(known, values, full)
    assert found["high"] - 0.9 == pytest.approx(np.hypot(0.01, error), abs=1e-3)
    assert 0.9 - found["low"] == pytest.approx(np.hypot(0.01, error), abs=1e-3)
    assert utility.widened(known, full, full) == known
    assert utility.widened(known, np.array([]), full) == known


def test_shares_of_the_same_initialisations_are_drawn_in_pairs(rng):
    full = rng.normal(0.6, 0.05, (10, 1))
    assert utility.share(0.9 * full, full) == {"mean": 0.9, "low": 0.9, "high": 0.9}


@pytest.mark.parametrize(
    ("condensed", "random", "low", "grade", "word"),
    [
        (0.98, 0.80, 0.96, "good", "Good"),
        (0.98, 0.80, 0.93, "fair", "Fair"),
        (0.80, 0.70, 0.75, "poor", "Weak"),
        (0.98, 0.99, 0.97, "poor", "Not useful"),
    ],
)
def test_the_verdict_follows_share_interval_and_baseline(finished, condensed, random, low, grade, word):
    verdict = judged(finished, full=arm(1.0, 1.0), condensed=arm(condensed, low), random=arm(random, random))
    assert verdict["grade"] == grade
    assert verdict["words"].startswith(word)
    assert spoken.percent(condensed) in verdict["words"]
    assert bool(verdict["advice"]) == (grade != "good"), "who is told that it is not good is told what to change"


@pytest.mark.parametrize(
    ("auroc", "random", "remark"),
    [
        (0.8, 0.9, ""),
        (0.55, 0.9, "hardly predict the outcome"),
        (0.995, 0.9, "known only after the outcome"),
        (0.8, 1.1, "a poor measure here"),
    ],
)
def test_the_verdict_says_when_the_full_cohort_is_no_measure(finished, auroc, random, remark):
    arms = {"full": arm(1.0, 1.0, auroc), "condensed": arm(1.2, 1.1), "random": arm(random, random)}
    after = judged(finished, **arms)["words"].split("random real patients reach ")[1]
    assert remark in after
    assert ("says" in after) == bool(remark)


def arm(share, low, auroc=0.8):
    auprc = {"mean": 0.6 * share, "low": None, "high": None}
    return {"rows": 20, "auprc": auprc, "auroc": {"mean": auroc}, "share": {"mean": share, "low": low, "high": 1.0}}


def judged(finished, **arms):
    return opening.verdict(source.read(Run(finished)), arms)


def test_numbers_are_spoken():
    assert spoken.percent(0.2592) == "25.9\xa0%"
    assert spoken.percent(0.0042) == "0.42\xa0%"
    assert spoken.interval({"low": 0.9, "high": 0.95}, spoken.percent) == "90.0 to 95.0\xa0%"
    assert spoken.interval({"low": None, "high": None}, spoken.percent) == "–"
    assert [spoken.duration(seconds) for seconds in (0.2, 41, 130, 7300)] == [
        "less than 1 s",
        "41 s",
        "2 min",
        "2 h 02 min",
    ]
    assert spoken.size(3_016_920) == "3.02 MB"
    assert spoken.listed(["a", "b", "c"]) == "a, b and c"


def test_preparing_again_gives_the_offset_of_the_teachers(folder, small_cohort, facts):
    data = prepare(small_cohort, small_cohort.split(0))
    expected = np.log(data.y_train.mean() / (1 - data.y_train.mean()))
    assert facts["sections"]["training"]["offset"][0]["offset"] == pytest.approx(expected, abs=0.1)

"""Tables and figures from made-up results: the numbers, the marks, the gaps, the escapes, the same bytes again."""

import csv
import io
import json
import math
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from attar.bench import render as rendering
from attar.bench.render import RENDERERS, drawn, one, render
from attar.bench.results import Row, append
from attar.bench.rows import line, show
from attar.bench.suite import Suite, suite
from attar.bench.suites import names
from attar.bench.typeset import Block, Cell, in_latex, in_markdown, latex, markdown, table
from attar.errors import RunError

METHODS = ("btm", "mtt", "ftd", "datm", "mct", "line", "convex-line")
BUDGETS = (50, 100, 200, 500)
LABELS = ("asthma", "diabetes", "heart failure", "stroke")
ABOVE = {"btm": 0.030, "mtt": 0.0, "ftd": -0.01, "datm": 0.012, "mct": 0.006, "line": 0.015, "convex-line": 0.017}
KINDS = ["utility", "phenotyping", "cross-architecture", "storage", "loss-profiles", "matching", "spectra", "steps"]
"""A suite of every kind that there is a renderer for."""
FACTS = {"suites": [], "cohorts": ["support2", "nhanes"], "size": "quick"}


def row(cohort, method, per_class, seed, want, measure, value, variant="{}", **more):
    own = {"model": "mlp", "arm": "", "label": "", "x": math.nan} | more
    cell = "-".join(map(str, (cohort, method, per_class, seed, variant)))
    return Row(cell, cohort, method, per_class, seed, variant, want, measure=measure, value=float(value), **own)


def scored(cohort, method, per_class, seed, variant="{}", want="scores", models=("mlp",), shift=0.0):
    rng = np.random.default_rng([seed, per_class, len(cohort), sum(map(ord, method + variant))])
    base = {"support2": 0.58, "nhanes": 0.30}.get(cohort, 0.2) + 0.01 * math.log(per_class / 50)
    values = {"full": base + 0.05, "random": base - 0.06, "condensed": base + ABOVE[method] + shift}
    for model in models:
        for arm, middle in values.items():
            noise = rng.normal(0, 0.004) if arm == "condensed" else 0.002 * seed
            for measure, more in (("auprc", 0.0), ("auroc", 0.2)):
                place = {"model": model, "arm": arm, "variant": variant, "std": 0.005, "values": (0.1, 0.2)}
                at = cohort, method, per_class, seed, want, measure
                yield row(*at, middle + more + noise - 0.003 * len(model), **place)
                for number, label in enumerate(LABELS if cohort == "nhanes" else ()):
                    yield row(*at, middle + more + noise + 0.05 * number, label=label, **place)


def curves(cohort, seed):
    for method, end in (("mtt", 0.8), ("btm", 0.4)):
        for x in range(30, 6001, 30):
            loss = end + 0.5 * math.exp(-x / 800) + 0.02 * math.sin(x * (seed + 1))
            yield row(cohort, method, 50, seed, "history", "loss", loss, x=float(x))
        for label, size in {"teachers": 4e5, "paths": 1.2e6 if method == "btm" else 9e6, "checkpoints": 2.2e7}.items():
            yield row(cohort, method, 50, seed, "storage", "bytes", size, label=label)
    for t in np.linspace(0, 1, 11):
        for measure, bump in (
            ("sgd_loss", 0.03 * math.cos(40 * t)),
            ("line_loss", 0.3 * t * (1 - t)),
            ("path_loss", 0.0),
        ):
            value = 0.69 - 0.3 * t + bump + 0.01 * seed
            yield row(cohort, "btm", 50, seed, "profile", measure, value, x=float(t))
    for kind, rate in (("checkpoints", 60), ("convexified", 20), ("bezier", 5)):
        for number in range(1, 201):
            value = 1 - math.exp(-number / rate)
            yield row(cohort, "btm", 50, seed, "spectrum", "energy", value, label=kind, x=float(number))
        for measure in ("rank_by_energy", "rank_by_entropy"):
            yield row(cohort, "btm", 50, seed, "spectrum", measure, rate * 3 + seed, label=kind)


def everything(seeds=3, cohorts=("support2", "nhanes")):
    rows = []
    for cohort in cohorts:
        for seed in range(seeds):
            rows += [r for m in METHODS for n in BUDGETS for r in scored(cohort, m, n, seed)]
            for name in ("steps", "length", "start", "prior", "degree"):
                varied = suite(name)
                for place, value in enumerate(varied.values):
                    text = json.dumps({varied.vary: value})
                    rows += scored(cohort, "btm", 50, seed, text, shift=0.004 * place)
            for method in ("btm", "datm"):
                models = ("mlp", "mlp-1", "mlp-2", "logistic", "random-forest")
                rows += scored(cohort, method, 50, seed, want="models", models=models)
            rows += curves(cohort, seed)
    return rows


def framed(rows):
    return pd.DataFrame([r._asdict() for r in rows])


@pytest.fixture(scope="module")
def results():
    return framed(everything())


@pytest.fixture(scope="module")
def files(results):
    return drawn([suite(name) for name in KINDS], results, FACTS)


def cells(text):
    lines = csv.DictReader(io.StringIO(text))
    return {(part["table"], part["row"], part["column"]): part for part in lines}


def typeset(rows, **more):
    """Return the tables of a suite as Markdown, as LaTeX and as the cells of its CSV."""
    shown = show(plain_suite(**more), framed(rows))
    blocks = RENDERERS[shown.suite.shows].blocks(shown)
    return markdown(blocks), latex(blocks, "one", "About it."), cells(table(blocks))


def plain_suite(**more):
    own = {"name": "one", "title": "A title", "paper": "a table", "about": "About it.", "shows": "grid"}
    return Suite.model_validate({**own, "methods": ("btm", "mtt"), **more})


def test_every_suite_has_a_renderer():
    assert {suite(name).shows for name in names()} == {suite(name).shows for name in KINDS} == set(RENDERERS)


def test_every_suite_has_its_tables_and_its_figure(files):
    for name in KINDS:
        for path in (f"tables/{name}.md", f"tables/{name}.tex", f"tables/{name}.csv"):
            assert len(files[path]) > 100, path
        assert files[f"figures/{name}.png"].startswith(b"\x89PNG\r\n\x1a\n")
        root = ElementTree.fromstring(files[f"figures/{name}.svg"])
        assert root.findtext("{http://www.w3.org/2000/svg}title")


def test_the_page_shows_all_in_the_order_of_the_suites(files):
    page = files["README.md"].decode()
    places = [page.index(f"](figures/{name}.png)") for name in KINDS]
    assert places == sorted(places)
    for name in files:
        assert name == "README.md" or f"({name})" in page
    assert "Without results" not in page
    assert "failed" not in page


def test_the_same_rows_give_the_same_bytes_in_any_order(results, files):
    shuffled = results.sample(frac=1, random_state=0)
    chosen = ["phenotyping", "storage"]
    again = drawn([suite(name) for name in chosen], shuffled, FACTS)
    del again["README.md"]
    assert len(again) == 5 * len(chosen)
    assert again == {name: files[name] for name in again}


def test_means_and_deviations_are_those_over_seeds(results, files):
    found = cells(files["tables/utility.csv"].decode())["support2, AUPRC", "BTM", "200 per class"]
    at = (results["cohort"] == "support2") & (results["method"] == "btm") & (results["per_class"] == 200)
    at &= (results["arm"] == "condensed") & (results["measure"] == "auprc") & (results["variant"] == "{}")
    values = results[at & (results["want"] == "scores")]["value"]
    full = results[(results["cohort"] == "support2") & (results["arm"] == "full") & (results["measure"] == "auprc")]
    whole = full[full["want"] == "scores"].groupby(["per_class", "seed"])["value"].mean().groupby("seed").mean().mean()
    assert len(values) == 3
    assert float(found["mean"]) == pytest.approx(values.mean(), rel=1e-4)
    assert float(found["std"]) == pytest.approx(values.std(ddof=1), rel=1e-4)
    assert found["seeds"] == "3"
    assert float(found["share"]) == pytest.approx(values.mean() / whole, rel=1e-4)
    shown = f"{values.mean():.3f} ± {values.std(ddof=1):.3f}"
    assert shown in files["tables/utility.md"].decode()
    assert shown.replace("±", r"$\pm$") in files["tables/utility.tex"].decode()


def test_with_one_seed_deviations_are_over_initialisations():
    rows = [*scored("support2", "btm", 50, 0), *scored("support2", "mtt", 50, 0)]
    assert typeset(rows)[2]["support2, AUPRC", "BTM", "50 per class"]["std"] == "0.005"
    assert "over initialisations of one seed" in one(show(plain_suite(), framed(rows))).section


def test_a_seed_that_is_alone_has_no_deviation():
    rows = [*scored("support2", "btm", 50, 0), *scored("support2", "btm", 50, 1), *scored("support2", "btm", 100, 0)]
    found = typeset(rows)[2]
    assert found["support2, AUPRC", "BTM", "100 per class"]["std"] == ""
    assert found["support2, AUPRC", "BTM", "50 per class"]["std"] != ""


def test_methods_are_compared_on_the_seeds_that_all_have():
    text, _, found = marked({"btm": (0.65, 0.66, 0.67, 0.1, 0.1), "mtt": (0.64, 0.65, 0.63)})
    assert "| BTM | **0.660 ± 0.010**" in text
    assert found["support2, AUPRC", "all patients", "50 per class"]["seeds"] == "3"


def test_methods_that_share_no_seed_are_shown_all_the_same():
    rows = [*scored("support2", "btm", 50, 0), *scored("support2", "mtt", 50, 1)]
    assert len(show(plain_suite(), framed(rows)).rows) == len(rows)


def marked(values):
    rows = []
    for method, by_seed in values.items():
        for seed, value in enumerate(by_seed):
            at = "support2", method, 50, seed, "scores", "auprc"
            rows += [row(*at, value, arm="condensed"), row(*at, 0.5, arm="random"), row(*at, 0.7, arm="full")]
    return typeset(rows, methods=tuple(values))


def test_best_is_bold_and_tied_is_in_italics():
    text, tex, _ = marked(
        {"btm": (0.640, 0.650, 0.660, 0.650), "mtt": (0.656, 0.630, 0.664, 0.638), "ftd": (0.4, 0.41, 0.42, 0.4)}
    )
    assert "| BTM | **0.650 ± 0.008** (92.9 %) |" in text
    assert "| MTT | *0.647 ± 0.016* (92.4 %) |" in text
    assert "| FTD | 0.407 ± 0.010 (58.2 %) |" in text
    assert "| all patients | 0.700 ± 0.000 |" in text
    assert r"BTM & \textbf{0.650 $\pm$ 0.008} (92.9 \%) \\" in tex
    assert r"MTT & \textit{0.647 $\pm$ 0.016} (92.4 \%) \\" in tex


def test_wins_and_ties_stand_at_the_foot():
    text, _, _ = marked(
        {"btm": (0.640, 0.650, 0.660, 0.650), "mtt": (0.656, 0.630, 0.664, 0.638), "ftd": (0.4, 0.41, 0.42, 0.4)}
    )
    text = text.split("**Wins and ties**")[1]
    assert "|  | AUPRC wins of 1 | AUPRC ties of 1 | mean share of full |" in text
    assert "| BTM | 1 | 0 | 92.9 % |" in text
    assert "| MTT | 0 | 1 | 92.4 % |" in text
    assert "| random patients | 0 | 0 | 71.4 % |" in text


def test_with_two_seeds_nothing_is_in_italics():
    text, _, _ = marked({"btm": (0.65, 0.66), "mtt": (0.6498, 0.6601)})
    assert text.count("**0.655") == 1
    assert "*0.65" not in text.replace("**0.65", "")


def test_what_is_missing_is_a_gap():
    rows = [*scored("support2", "btm", 50, 0), *scored("support2", "btm", 100, 0), *scored("support2", "mtt", 50, 0)]
    text, _, _ = typeset(rows)
    line = next(part for part in text.splitlines() if part.startswith("| MTT"))
    assert line.endswith("| - |")


def test_failed_runs_and_suites_without_rows_are_told():
    facts = {**FACTS, "failed": [{"run": "nhanes btm 50", "cell": "1f", "message": "ValueError: a | b"}]}
    results = framed(scored("support2", "btm", 50, 0))
    page = drawn([plain_suite(), plain_suite(name="two", title="Other", shows="curve")], results, facts)
    text = page["README.md"].decode()
    assert "## Without results yet\n\n- Other\n" in text
    assert "## Runs that failed\n\n- nhanes btm 50: ValueError: a \\| b\n" in text
    assert not [name for name in page if "two" in name]


def test_no_rows_at_all_make_a_page_that_says_so(results):
    made = drawn([suite(name) for name in names()], results.iloc[:0], FACTS)
    assert list(made) == ["README.md"]
    assert made["README.md"].decode().count("\n- ") == len(names())


@pytest.mark.parametrize("name", names())
def test_any_part_of_the_rows_can_be_shown(results, name):
    rows = show(suite(name), results).rows.drop(columns="setting")
    for part in (rows.iloc[:7], rows[rows["arm"] == "full"], rows[rows["arm"] == "condensed"], rows[rows["x"] > 2]):
        shown, renderer = show(suite(name), part), RENDERERS[suite(name).shows]
        for block in renderer.blocks(shown):
            assert all(len(cells) == len(block.columns) for _, cells in block.rows)
        picture = renderer.picture(shown)
        assert picture is None or picture.figure.axes


def test_only_cohorts_with_labels_are_shown_label_by_label(files):
    text = files["tables/phenotyping.md"].decode()
    assert "support2" not in text
    assert "nhanes, AUPRC (mean over labels)" in text
    assert "nhanes, AUPRC by label, 500 per class" in text
    assert "| heart failure |" in text


def test_models_are_rows_and_the_one_condensed_with_is_named(files):
    text = files["tables/cross-architecture.md"].decode()
    assert "| model | random patients | BTM | DATM | all patients |" in text
    assert "| mlp (condensed with) |" in text
    assert "| random-forest |" in text


def test_a_varied_setting_is_a_row_a_value(files):
    text = files["tables/steps.md"].decode().split("**AUPRC (mean over labels), 50 per class**")[1].split("**AUROC")[0]
    assert "| student steps | support2 | nhanes |" in text
    found = [part.split("|")[1].strip() for part in text.splitlines() if "±" in part]
    assert found == ["random patients", "10", "20", "30", "40", "60", "all patients"]


def test_storage_is_told_in_bytes_and_against_every_epoch(files):
    text = files["tables/storage.md"].decode()
    assert "| every epoch | 22 MB | 22 MB |" in text
    assert "| BTM | 1.6 MB (13.8× less) | 1.6 MB (13.8× less) |" in text
    assert "| MTT | 9.4 MB (2.3× less) |" in text
    assert r"(13.8$\times$ less)" in files["tables/storage.tex"].decode()


def test_curves_are_summed_up(files, results):
    loss = cells(files["tables/matching.csv"].decode())[
        "Matching loss over the last tenth of the iterations", "MTT", "support2"
    ]
    rows = results[(results["want"] == "history") & (results["method"] == "mtt") & (results["cohort"] == "support2")]
    late = rows[rows["x"] > 5400]
    assert float(loss["mean"]) == pytest.approx(late["value"].mean(), rel=1e-4)
    ranks = cells(files["tables/spectra.csv"].decode())[
        "Directions that hold 95 % of the energy", "Bézier curve", "nhanes"
    ]
    assert (float(ranks["mean"]), float(ranks["std"]), ranks["seeds"]) == (16, 1, "3")
    profile = cells(files["tables/loss-profiles.csv"].decode())[
        "Training loss, mean over the path", "straight line", "support2"
    ]
    assert float(profile["mean"]) == pytest.approx(0.69 - 0.15 + 0.045 + 0.01, rel=1e-4)


def test_a_long_line_is_thinned_by_means():
    rows = pd.DataFrame({"x": np.arange(1.0, 101), "seed": 0, "value": np.arange(1.0, 101)})
    thin = line(rows, 10)
    assert thin.index.tolist() == list(range(10, 101, 10))
    assert thin[0].tolist() == [5.5 + 10 * n for n in range(10)]
    assert len(line(rows, 100)) == 100


def test_files_and_folders_are_called_by_their_own_names():
    rows = [r._replace(cohort="/data/a/icu.parquet") for r in scored("support2", "btm", 50, 0)]
    shown = show(plain_suite(), framed(rows))
    assert shown.cohorts == ("icu",)
    twice = rows + [r._replace(cohort="/data/b/icu.parquet") for r in rows]
    assert show(plain_suite(), framed(twice)).cohorts == ("/data/a/icu.parquet", "/data/b/icu.parquet")


NASTY = "a|b_c*d<e>\\f & 5 % $x$ {y} ~^#\n±"


def test_latex_is_escaped():
    expected = r"a\textbar{}b\_c*d\textless{}e\textgreater{}\textbackslash{}f \& 5 \% \$x\$ \{y\} "
    assert in_latex(NASTY) == expected + r"\textasciitilde{}\textasciicircum{}\# $\pm$"


def test_markdown_is_escaped():
    assert in_markdown(NASTY) == "a\\|b\\_c\\*d\\<e\\>\\\\f & 5 % \\$x\\$ {y} ~^# ±"


def test_strange_names_break_no_table():
    block = Block(NASTY, NASTY, (NASTY, "b"), ((NASTY, (Cell(NASTY, NASTY, "best"), Cell())),), below=1)
    lines = markdown([block]).splitlines()
    assert len({part.replace("\\|", "").count("|") for part in lines if part.startswith("|")}) == 1
    body = next(part for part in latex([block], "x", NASTY).splitlines() if part.endswith(r"\\") and "textbf" in part)
    assert body.replace(r"\&", "").count("&") == 2
    assert len(list(csv.reader(io.StringIO(table([block]))))) == 3


def test_strange_cohorts_are_drawn():
    rows = [r._replace(cohort="cost $ of_a <b>") for r in scored("support2", "btm", 50, 0)]
    made = drawn([plain_suite()], framed(rows), FACTS)
    words = [node.text for node in ElementTree.fromstring(made["figures/one.svg"]).iter()]
    assert "cost $ of_a <b>" in words


def test_a_folder_is_rendered_in_place(tmp_path):
    append(tmp_path, everything(1, ("support2",)))
    (tmp_path / "bench.json").write_text(json.dumps({"suites": ["storage", "steps"], "cohorts": ["support2"]}))
    written = render(tmp_path)
    assert {str(path.relative_to(tmp_path)) for path in written} == {
        "README.md",
        *(f"tables/{name}.{kind}" for name in ("storage", "steps") for kind in ("md", "tex", "csv")),
        *(f"figures/{name}.{kind}" for name in ("storage", "steps") for kind in ("png", "svg")),
    }
    before = {path: path.read_bytes() for path in written}
    assert render(tmp_path) == written
    assert {path: path.read_bytes() for path in written} == before


@pytest.mark.parametrize("content", [None, "{"])
def test_a_folder_without_a_benchmark_is_refused(tmp_path, content):
    if content:
        (tmp_path / "bench.json").write_text(content)
    with pytest.raises(RunError, match="attar bench"):
        rendering.render(tmp_path)

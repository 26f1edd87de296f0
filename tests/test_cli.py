"""The command line as its user meets it: what it prints, how it fails, what it leaves alone."""

import json
import subprocess
import sys
import time
import tomllib

import numpy as np
import pandas as pd
import pytest

from attar import cli
from conftest import QUICK

SETTINGS = [f"--set={key}={value}" for key, value in QUICK.items()]


def attar(monkeypatch, *words) -> int:
    """Run a command in this process; return its exit code."""
    monkeypatch.setattr(sys, "argv", ["attar", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code or 0


def patients(rows=300, **columns) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    died = (rng.random(rows) < 0.3).astype(int)
    age = np.round(rng.normal(60, 10, rows) + 5 * died, 1)
    return pd.DataFrame({"age": age, "pulse": rng.integers(50, 120, rows), "died": died}).assign(**columns)


BAD_TABLES = {
    "target is no column": (patients(), ["--target", "dide"], ["'dide'", "Did you mean 'died'"]),
    "no target": (patients(), [], ["--target"]),
    "one value": (patients(died=1), ["--target", "died"], ["'died'", "two"]),
    "three values": (patients(died=np.tile([0, 1, 2], 100)), ["--target", "died"], ["'died'", "two"]),
    "few of a class": (patients(died=[1] * 9 + [0] * 291), ["--target", "died"], ["9 patients", "at least 10"]),
    "infinite": (patients(pulse=[np.inf] * 2 + [1.0, 2.5] * 149), ["--target", "died"], ["'pulse'", "infinit"]),
    "mixed types": (patients(pulse=["80", "unknown", "75.5"] * 100), ["--target", "died"], ["'pulse'", "unknown"]),
    "dates": (
        patients(seen=pd.date_range("2020-01-01", periods=300).astype(str)),
        ["--target", "died"],
        ["'seen'", "--drop"],
    ),
    "wrong drop": (patients(), ["--target", "died", "--drop", "agee"], ["'agee'", "'age'"]),
    "wrong kind": (patients(), ["--target", "died", "--kind", "age=colour"], ["'age'", "'colour'"]),
    "malformed kind": (patients(), ["--target", "died", "--kind", "age"], ["COL=KIND"]),
    "too many per class": (patients(), ["--target", "died", "--per-class", "200"], ["--per-class 200", "at most"]),
    "unknown method": (patients(), ["--target", "died", "--method", "bmt"], ["'bmt'", "'btm'"]),
    "unknown setting": (
        patients(),
        ["--target", "died", "--set", "teachers.cout=3"],
        ["teachers.cout", "teachers.count"],
    ),
    "unknown path": (patients(), ["--target", "died", "--set", "path.kind=bezir"], ["'path.kind'", "'bezier'"]),
    "unknown optimiser": (patients(), ["--target", "died", "--set", "teachers.optimiser=gasm"], ["'gasm'", "'gsam'"]),
    "unknown sampler": (patients(), ["--target", "died", "--set", "segments.sampler=stage"], ["'stage'", "'staged'"]),
    "window outside the training": (
        patients(),
        ["--target", "died", "--method", "datm", "--set", "segments.windows=[[1, 0, 20, 40]]"],
        ["'segments.windows'", "0 to 20, later to 40", "<= 30"],
    ),
    "more epochs than trained": (
        patients(),
        ["--target", "died", "--method", "mtt", "--set", "teachers.epochs=3"],
        ["'segments.epochs' is 5", "give 1 to 3"],
    ),
    "window longer than the student": (
        patients(),
        ["--target", "died", "--set", "stay.window=70"],
        ["'stay.window', 'stay.least' and 'stay.steps' are 70, 60 and 100"],
    ),
    "no student steps": (patients(), ["--target", "died", "--set", "student.steps=0"], ["'student.steps' is 0"]),
    "no batch": (patients(), ["--target", "died", "--set", "student.batch=0"], ["'student.batch' is 0", "'all'"]),
    "segment too long": (patients(), ["--target", "died", "--set", "segments.length=1.2"], ["'segments.length'", "1"]),
    "unknown model": (patients(), ["--target", "died", "--set", "model.name=mpl"], ["'mpl'", "'mlp'"]),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_input_gets_one_paragraph_and_exit_code_2(case, monkeypatch, tmp_path, capsys):
    table, words, expected = BAD_TABLES[case]
    table.to_csv(tmp_path / "cohort.csv", index=False)
    out = tmp_path / "run"
    assert attar(monkeypatch, "condense", tmp_path / "cohort.csv", *words, "--out", out) == 2
    printed = capsys.readouterr().err
    for word in expected:
        assert word in printed
    assert "Traceback" not in printed
    assert not out.exists()


def test_bad_files(monkeypatch, tmp_path, capsys):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 but not really")
    (tmp_path / "double.csv").write_text("age,age,died\n" + "1,2,0\n" * 200)
    for name, word in (
        ("nowhere.csv", "nowhere.csv"),
        ("empty.csv", "empty"),
        ("broken.parquet", "broken.parquet"),
        ("double.csv", "'age'"),
    ):
        assert attar(monkeypatch, "condense", tmp_path / name, "--target", "died", "--out", tmp_path / "run") == 2
        assert word in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_an_odd_csv_is_read_and_odd_columns_are_dropped_with_a_word(monkeypatch, tmp_path, capsys):
    table = patients(nothing=np.nan, same=3, ward=np.tile(["côté", "sud", "nord"], 100))
    table["died"] = table["died"].map({0: "no", 1: "yes"})
    table.to_csv(tmp_path / "cohort.csv", index=False, sep=";", encoding="cp1252")
    out = tmp_path / "run"
    assert attar(monkeypatch, "condense", tmp_path / "cohort.csv", "--target", "died", "--out", out, *SETTINGS) == 0
    printed = capsys.readouterr()
    for word in ("'nothing'", "'same'", "cp1252"):
        assert word in printed.err
    assert "condensed table" in printed.out
    condensed = pd.read_csv(out / "condensed.csv")
    assert list(condensed) == ["age", "pulse", "ward", "died"]
    assert set(condensed["ward"]) <= {"côté", "sud", "nord"}
    assert condensed["died"].tolist() == ["no"] * 10 + ["yes"] * 10


def test_a_folder_that_is_no_run_is_refused_and_left_alone(monkeypatch, tmp_path, capsys):
    patients().to_csv(tmp_path / "cohort.csv", index=False)
    before = sorted(path.name for path in tmp_path.iterdir())
    assert (
        attar(
            monkeypatch, "condense", tmp_path / "cohort.csv", "--target", "died", "--out", tmp_path, "--per-class", 10
        )
        == 2
    )
    assert "holds no attar run" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_condense_json_then_evaluate_says_the_same(monkeypatch, tmp_path, capsys):
    table = patients(ward=np.tile(["east", "south", "north"], 100))
    table.assign(visit=np.arange(300) // 2, sex=np.tile(["f", "m"], 150)).to_parquet(tmp_path / "cohort.parquet")
    words = ["--target", "died", "--id", "visit", "--groups", "sex", "--out", tmp_path / "run", *SETTINGS]
    assert attar(monkeypatch, "condense", tmp_path / "cohort.parquet", *words, "--json", "--quiet") == 0
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert printed.err == ""
    written = (tmp_path / "run" / "scores.json").read_bytes()
    assert result["arms"] == json.loads(written)["arms"]
    assert list(pd.read_parquet(tmp_path / "run" / "condensed.parquet")) == ["age", "pulse", "ward", "died"]

    assert attar(monkeypatch, "evaluate", tmp_path / "run", "--quiet") == 0
    assert (tmp_path / "run" / "scores.json").read_bytes() == written
    patients(rows=400).to_parquet(tmp_path / "cohort.parquet")
    assert attar(monkeypatch, "evaluate", tmp_path / "run") == 2
    assert "visit" in capsys.readouterr().err


def test_evaluate_wants_a_run(monkeypatch, tmp_path, capsys):
    assert attar(monkeypatch, "evaluate", tmp_path) == 2
    assert "not an attar run folder" in capsys.readouterr().err


def test_cohorts_lists_what_is_built_in(monkeypatch, capsys):
    assert attar(monkeypatch, "cohorts", "--json") == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["support2"]["rows"] == 9105
    assert len(rows["nhanes"]["targets"]) == 8
    assert attar(monkeypatch, "cohorts") == 0
    assert "public domain" in " ".join(capsys.readouterr().out.split())


def test_a_markup_like_column_name_is_printed_as_it_is(monkeypatch, tmp_path, capsys):
    patients(**{"[red]x": np.inf}).to_csv(tmp_path / "cohort.csv", index=False)
    assert attar(monkeypatch, "condense", tmp_path / "cohort.csv", "--target", "died", "--drop", "[bold]y") == 2
    assert "[bold]y" in capsys.readouterr().err


def test_help_imports_nothing_heavy_and_is_quick():
    script = (
        "import sys, runpy; sys.argv = ['attar', '--help']\n"
        "from attar.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert not {'jax', 'sklearn', 'pandas', 'numpy'} & set(sys.modules), 'heavy import'"
    )
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "condense" in done.stdout
    assert time.monotonic() - began < 5


def test_interrupted_by_ctrl_c_says_how_to_go_on(monkeypatch, tmp_path, capsys):
    patients().to_csv(tmp_path / "cohort.csv", index=False)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("attar.run.condense_cohort", interrupted)
    assert attar(monkeypatch, "condense", tmp_path / "cohort.csv", "--target", "died", "--out", tmp_path / "run") == 130
    assert "same command continues" in capsys.readouterr().err


def test_recipe_show_prints_toml_that_recipe_takes_back(monkeypatch, capsys, tmp_path):
    assert attar(monkeypatch, "recipe", "show", "paper/portsmouth", "--method", "datm", "--set", "per_class=200") == 0
    printed = capsys.readouterr().out
    found = tomllib.loads(printed)
    assert (found["method"], found["teachers"]["optimiser"], found["teachers"]["step_size"]) == ("datm", "gsam", 0.01)
    (tmp_path / "mine.toml").write_text(printed)
    assert attar(monkeypatch, "recipe", "show", tmp_path / "mine.toml") == 0
    assert capsys.readouterr().out == printed
    assert attar(monkeypatch, "recipe", "list") == 0
    assert "paper/portsmouth" in capsys.readouterr().out.split()
    assert attar(monkeypatch, "recipe", "show", "paper/portsmuth") == 2
    assert "'paper/portsmouth'" in capsys.readouterr().err


def test_a_benchmark_of_an_unknown_method_is_refused(monkeypatch, tmp_path, capsys):
    assert attar(monkeypatch, "bench", "utility", "--methods", "mtt,bmt", "--out", tmp_path / "bench") == 2
    assert "'bmt'" in capsys.readouterr().err
    assert not (tmp_path / "bench").exists()

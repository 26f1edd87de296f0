"""`attar prepare` as a user meets it: what it writes, what it says, what it refuses."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

from attar.cli import main, prepare
from attar.cohort import Cohort
from attar.cohort.sources import SOURCES
from attar.cohort.sources.options import Options


@pytest.fixture
def run(monkeypatch, capsys):
    def call(*words):
        monkeypatch.setattr(sys, "argv", ["attar", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        return code, capsys.readouterr()

    return call


@pytest.fixture
def long_table(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        (patient, hour + 0.5, name, round(float(rng.normal(80, 10)), 1))
        for patient in range(130)
        for hour in range(4)
        for name in ("HR", "Urine")
    ]
    pd.DataFrame(rows, columns=["patient", "time", "variable", "value"]).to_csv(tmp_path / "long.csv", index=False)
    died = pd.DataFrame({"patient": range(130), "died": [patient % 3 == 0 for patient in range(130)], "age": 60})
    died.astype({"died": int}).assign(age=range(130)).to_csv(tmp_path / "outcomes.csv", index=False)
    return tmp_path


def test_a_long_table_becomes_a_cohort(run, long_table):
    words = ["prepare", "series", long_table / "long.csv", "--out", long_table / "icu", "--hours", 4]
    words += ["--outcomes", long_table / "outcomes.csv", "--target", "died", "--sums", "Urine"]
    code, said = run(*words)
    assert code == 0, said.err
    assert "130 patients, 2 channels x 4 hours" in said.out
    assert "died 33.8%" in said.out
    cohort = Cohort.read(long_table / "icu")
    assert cohort.series.values.shape == (130, 4, 2)
    assert [channel.rule for channel in cohort.series.channels] == ["last", "sum"]
    assert [column.name for column in cohort.schema.columns] == ["age"]
    code, said = run(*words, "--json")
    facts = json.loads(said.out)["prepared"][str(long_table / "icu")]
    assert facts["kept"] == {"patients": 130, "values": 1040}
    assert (facts["hours"], facts["channels"]) == (4, 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sries", "long.csv"], "no source 'sries'. Did you mean 'series'"),
        (["series", "lnog.csv"], "no file or folder"),
        (["nhs", "long.csv", "--hours", "4"], "The source nhs takes no --hours. It takes --target, --only."),
        (["series", "long.csv"], "--outcomes FILE"),
    ],
)
def test_a_mistake_gets_one_paragraph(run, long_table, monkeypatch, words, message):
    monkeypatch.chdir(long_table)
    code, said = run("prepare", *words, "--out", "out")
    assert code == 2
    assert message in " ".join(said.err.split())
    assert "Traceback" not in said.err
    assert not (long_table / "out").exists()


def test_a_folder_with_something_else_is_left_alone(run, long_table):
    code, said = run("prepare", "nhs", long_table / "long.csv", "--out", long_table)
    assert code == 2
    assert "holds no prepared cohort" in said.err
    assert not (long_table / "cohort.json").exists()


def test_the_help_names_every_source_and_every_option_is_one(run):
    _, said = run("prepare", "--help")
    words = " ".join(said.out.split())
    for name, source in SOURCES.items():
        assert name in words
        assert set(source.takes) <= set(Options.__dataclass_fields__)
    taken = {option for source in SOURCES.values() for option in source.takes}
    assert taken == set(Options.__dataclass_fields__) <= set(prepare.__annotations__)

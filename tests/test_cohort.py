import subprocess
import sys
from importlib import resources

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from attar.cohort import Cohort, Schema
from attar.cohort.builtin import CATALOGUE
from attar.errors import DataError

ROWS = 300


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "patient": rng.integers(0, 200, ROWS),
            "age": rng.normal(60, 10, ROWS),
            "sex": rng.choice(["f", "m"], ROWS),
            "died": (rng.random(ROWS) < 0.3).astype(int),
        }
    )


def test_of(frame):
    before = frame.copy(deep=True)
    cohort = Cohort.of(frame, "died", id="patient", groups="sex", name="mine")
    pd.testing.assert_frame_equal(frame, before)
    assert (cohort.name, cohort.rows, cohort.warnings) == ("mine", ROWS, ())
    assert list(cohort.frame) == ["age"]
    assert list(cohort.groups) == ["sex"]
    assert cohort.labels.dtype == np.int8
    assert cohort.labels[:, 0].tolist() == frame["died"].tolist()
    assert cohort.prevalence == pytest.approx([frame["died"].mean()])
    assert len(np.unique(cohort.ids)) == frame["patient"].nunique()
    assert cohort.schema.id == "patient"


def test_groups_are_features_only_when_asked(frame):
    cohort = Cohort.of(frame, "died", groups=["sex"], features=["sex", "age"])
    assert list(cohort.frame) == ["sex", "age"]
    assert Cohort.of(frame, "died").groups.shape == (ROWS, 0)


def test_user_frame_is_untouched_even_when_rows_and_columns_go(frame):
    frame["same"] = 1
    frame["flag"] = pd.Series([True, None, False] * 100, dtype=object)
    frame["died"] = frame["died"].astype(float)
    frame.loc[3, "died"] = np.nan
    frame.index = range(1000, 1000 + ROWS)
    before = frame.copy(deep=True)
    cohort = Cohort.of(frame, "died")
    pd.testing.assert_frame_equal(frame, before)
    assert cohort.rows == ROWS - 1
    assert cohort.frame.index.equals(pd.RangeIndex(ROWS - 1))
    assert "1 of 300 rows lack a value of the target" in cohort.warnings[0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"target": "dead"}, "'dead', named as target.*'died'"),
        ({"target": None}, "--target COL.*patient, age, sex, died"),
        ({"id": "pateint"}, "'pateint', named as id.*Did you mean 'patient'"),
        ({"groups": ["gender"]}, "'gender', named as group"),
        ({"drop": "agee"}, "'agee', named as dropped.*Did you mean 'age'"),
        ({"features": ["ages"]}, "'ages', named as feature.*Did you mean 'age'"),
        ({"id": "died"}, "'died' is named both as target and as id"),
        ({"drop": "died"}, "'died' is named both as target and as dropped"),
        ({"features": ["age", "died"]}, "'died' is named both as target and as feature"),
        ({"features": ["patient"], "id": "patient"}, "'patient' is named both as id and as feature"),
        ({"groups": "patient", "id": "patient"}, "'patient' is named both as id and as group"),
        ({"features": ["age"], "drop": "age"}, "'age' is named both as dropped and as feature"),
        ({"target": "age"}, "'age' has 300 values.*exactly two.*threshold"),
        ({"positive": "yes"}, "'died' has no value 'yes'.*0 and 1.*--positive"),
        ({"positive": {"dead": 1}}, "positive= names 'dead'"),
    ],
)
def test_bad_parts(frame, options, said):
    with pytest.raises(DataError, match=said):
        Cohort.of(frame, **{"target": "died", **options})


def test_doubled_names(frame):
    with pytest.raises(DataError, match="more than one column named 'sex'"):
        Cohort.of(pd.concat([frame, frame[["sex"]]], axis=1), "died")


def test_targets_with_one_or_many_values(frame):
    with pytest.raises(DataError, match="only one value, 'alive'"):
        Cohort.of(frame.assign(died="alive"), "died")
    with pytest.raises(DataError, match=r"has 6 values \('a', 'b', 'c', 'd', 'e', 'f'\)"):
        Cohort.of(frame.assign(died=list("abcdef") * 50), "died")
    with pytest.raises(DataError, match=rf"Target 'died' has {ROWS} values; a target has exactly two") as caught:
        Cohort.of(frame.assign(died=[f"Anna {row}" for row in range(ROWS)]), "died")
    assert "Anna" not in str(caught.value)
    for odd in (pd.date_range("2020", periods=ROWS), pd.Series([0, "x"] * 150, dtype=object)):
        with pytest.raises(DataError, match=r"Target 'died' is not.*exactly two values"):
            Cohort.of(frame.assign(died=odd), "died")
    with pytest.raises(DataError, match="rows with an outcome"):
        Cohort.of(frame.assign(died=np.nan), "died")


def test_too_few(frame):
    with pytest.raises(DataError, match=r"has 99 rows.*at least 100"):
        Cohort.of(frame.iloc[:99], "died")
    with pytest.raises(DataError, match="'died' has 9 patients with True; each class needs at least 10"):
        Cohort.of(frame.assign(died=np.arange(ROWS) < 9), "died")
    few = frame.assign(died=(np.arange(ROWS) < 30).astype(int), patient=np.arange(ROWS) // 6)
    assert Cohort.of(few, "died", drop="patient").rows == ROWS
    with pytest.raises(DataError, match="'died' has 5 patients with 1"):
        Cohort.of(few, "died", id="patient")


def test_rows_without_id_are_patients_of_their_own(frame):
    frame["patient"] = frame["patient"].astype("Int64")
    frame.loc[[1, 2, 3], "patient"] = pd.NA
    cohort = Cohort.of(frame, "died", id="patient")
    assert "3 rows have no 'patient'" in cohort.warnings[0]
    assert len(np.unique(cohort.blocks)) == frame["patient"].nunique() + 3


@pytest.mark.parametrize(
    ("low", "high", "warned"),
    [
        (0, 1, False),
        (False, True, False),
        (0.0, 1.0, False),
        (-1, 1, False),
        ("0", "1", False),
        (1, 2, True),
        ("1", "2", True),
        ("no", "yes", False),
        ("N", "Y", False),
        ("FALSE", "TRUE", False),
        ("Alive", "Died", False),
        ("survived", "Dead", False),
        ("negative", "Positive", False),
        ("common", "rare", True),
        ("z common", "a rare", True),
    ],
)
@pytest.mark.parametrize("category", [False, True])
def test_two_valued_targets(low, high, warned, category):
    rng = np.random.default_rng(0)
    truth = rng.random(ROWS) < 0.3
    series = pd.Series([high if t else low for t in truth])
    series = series.astype("category") if category else series
    cohort = Cohort.of(pd.DataFrame({"x": rng.normal(size=ROWS), "out": series}), "out")
    assert (cohort.labels[:, 0] == truth).all()
    target = cohort.schema.targets[0]
    assert (target.negative, target.positive) == (low, high)
    assert bool(cohort.warnings) == warned
    if warned:
        assert repr(high) in cohort.warnings[0]
        assert "positive=" in cohort.warnings[0]
    decoded = target.decode(cohort.labels[:, 0])
    assert decoded.tolist() == series.tolist()
    assert str(decoded.dtype) == str(series.dtype)
    swapped = Cohort.of(pd.DataFrame({"x": rng.normal(size=ROWS), "out": series}), "out", positive=str(low))
    assert (swapped.labels[:, 0] != truth).all()
    assert swapped.warnings == ()


def test_several_targets(frame):
    frame["ill"] = np.where(np.arange(ROWS) % 3 == 0, "yes", "no")
    cohort = Cohort.of(frame, ["died", "ill"], drop="patient", positive={"ill": "no"})
    assert cohort.labels.shape == (ROWS, 2)
    assert cohort.labels[:3, 1].tolist() == [0, 1, 1]
    assert list(cohort.frame) == ["age", "sex"]


def test_fingerprint_follows_the_content(frame):
    def mark(table, **options):
        return Cohort.of(table, **{"target": "died", "id": "patient", **options}).fingerprint

    first = mark(frame)
    assert first == mark(frame.copy(), name="other")
    changed = [
        mark(frame.assign(age=frame["age"].where(frame.index != 5, 1.25))),
        mark(frame.assign(died=frame["died"].where(frame.index != 5, 1 - frame["died"]))),
        mark(frame.assign(patient=frame["patient"].where(frame.index != 5, 999))),
        mark(frame.rename(columns={"age": "years"})),
        mark(frame, kinds={"sex": "categorical"}),
        mark(frame, groups=["sex"]),
        mark(frame, id=None),
        mark(frame.iloc[::-1]),
    ]
    assert len({first, *changed}) == 9


def test_fingerprint_is_the_same_in_another_process():
    code = "from attar.cohort import Cohort; print(Cohort.read('support2').fingerprint)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == Cohort.read("support2").fingerprint


def test_from_arrays(frame):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 3)).astype(np.float32), rng.integers(0, 2, 200)
    cohort = Cohort.from_arrays(x, y)
    assert list(cohort.frame) == ["x0", "x1", "x2"]
    assert [target.name for target in cohort.schema.targets] == ["y"]
    assert cohort.frame["x0"].dtype == np.float32
    two = Cohort.from_arrays(x.tolist(), np.stack([y, 1 - y], axis=1))
    assert [target.name for target in two.schema.targets] == ["y0", "y1"]
    named = Cohort.from_arrays(frame[["age", "sex"]].set_index(frame.index + 7), frame["died"])
    assert list(named.frame) == ["age", "sex"]
    assert named.schema.targets[0].name == "died"
    assert named.labels[:, 0].tolist() == frame["died"].tolist()
    for bad_x, bad_y in ((x, y[:-1]), (x[:, :, None, None], y), (x[:, 0], y)):
        with pytest.raises(DataError, match="X has shape"):
            Cohort.from_arrays(bad_x, bad_y)
    with pytest.raises(DataError, match="more than one column named 'y'"):
        Cohort.from_arrays(pd.DataFrame(x, columns=["y", "b", "c"]), y)


def test_support2():
    cohort = Cohort.read("support2")
    row = CATALOGUE["support2"]
    assert (cohort.name, cohort.rows, cohort.warnings) == ("support2", row.rows, ())
    assert cohort.frame.shape == (9105, 23)
    assert cohort.prevalence == pytest.approx([0.259], abs=5e-4)
    kinds = {column.name: column.kind for column in cohort.schema.columns}
    assert [kinds[name] for name in ("sex", "dzgroup", "race", "ca", "age", "num.co", "diabetes")] == [
        "binary",
        "categorical",
        "categorical",
        "categorical",
        "numeric",
        "integer",
        "binary",
    ]
    assert cohort.frame["race"].isna().any()
    assert repr(cohort) == "Cohort('support2', 9105 rows, 23 features, hospdead 25.9%)"


def test_nhanes():
    everything = Cohort.read("nhanes")
    row = CATALOGUE["nhanes"]
    assert (everything.rows, len(everything.schema.targets)) == (4788, 8)
    assert "477 of 5265 rows" in everything.warnings[0]
    assert len(everything.schema.columns) == row.features
    one = Cohort.read("nhanes", "label_stroke")
    assert [target.name for target in one.schema.targets] == ["label_stroke"]
    assert list(one.frame) == list(everything.frame)
    assert not any(name.startswith("label_") for name in one.frame)
    asked = Cohort.read("nhanes", "label_stroke", features=["age_years", "label_diabetes"])
    assert list(asked.frame) == ["age_years", "label_diabetes"]
    dropped = Cohort.read("nhanes", "label_stroke", drop=["label_asthma", "male"], groups=["label_cancer"])
    assert len(dropped.schema.columns) == row.features - 1


@pytest.mark.parametrize("row", CATALOGUE.values(), ids=lambda row: row.name)
def test_catalogue_tells_the_truth(row):
    frame = row.frame()
    assert frame.shape == (row.rows, row.features + len(row.targets))
    assert frame[list(row.targets)].mean().to_numpy() == pytest.approx(row.prevalence, abs=5e-5)
    words = (resources.files("attar.cohort") / "data" / f"{row.name}.md").read_text()
    for part in ("Licence:", "Citation:", "Processing:"):
        assert part in words


def test_unknown_name():
    with pytest.raises(DataError, match=r"'suport2'.*Did you mean 'support2'"):
        Cohort.read("suport2")


def test_schema_is_shown_saved_and_frozen():
    schema = Cohort.read("support2").schema
    shown = schema.summary()
    assert list(shown) == ["column", "kind", "dtype", "missing", "values"]
    assert shown.set_index("column").loc["dzgroup"].tolist() == ["categorical", "str", 0.0, 8]
    assert shown["values"].isna().sum() == sum(column.kind in ("numeric", "integer") for column in schema.columns)
    assert Schema.model_validate_json(schema.model_dump_json()) == schema
    with pytest.raises(ValidationError):
        schema.columns[0].name = "x"

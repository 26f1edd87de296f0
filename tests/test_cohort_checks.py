import datetime
import decimal
import time

import numpy as np
import pandas as pd
import pytest

from attar.cohort import Cohort
from attar.cohort.leaks import _auroc, _codes
from attar.errors import DataError

ROWS = 400


def table(**columns):
    rng = np.random.default_rng(7)
    return pd.DataFrame({"age": rng.normal(60, 10, ROWS), **columns, "died": rng.integers(0, 2, ROWS)})


def kinds(frame, **options):
    return {column.name: column.kind for column in Cohort.of(frame, "died", **options).schema.columns}


def cycle(values, dtype=None):
    return pd.Series([values[i % len(values)] for i in range(ROWS)], dtype=dtype)


@pytest.mark.parametrize(
    ("series", "kind"),
    [
        (cycle([1.5, 2.5, 3.5]), "numeric"),
        (cycle([1.0, 2.0, None]), "binary"),
        (cycle([1, 2, 3]), "integer"),
        (cycle([1.0, 2.0, 3.0, None]), "integer"),
        (cycle([4, 7]), "binary"),
        (cycle(["a", "b", None]), "binary"),
        (cycle(["a", "b", "c"]), "categorical"),
        (cycle(["a", "b"], "category"), "binary"),
        (cycle([3, 1, 2], "category"), "categorical"),
        (cycle([True, False]), "binary"),
        (cycle([True, False, None], "boolean"), "binary"),
        (cycle([True, False, None], object), "binary"),
        (cycle([1, 2, 3, None], "Int64"), "integer"),
        (cycle([1, 2, 3.5, None], object), "numeric"),
        (cycle([1, 2, 3, None], "int64[pyarrow]"), "integer"),
        (cycle([decimal.Decimal("1.5"), decimal.Decimal(2), decimal.Decimal(3)]), "numeric"),
        (cycle(["a", "b", "c"], object), "categorical"),
        (cycle(["1", "2", "3+"]), "categorical"),
        (cycle([0.0, 1.0, 2.0], pd.SparseDtype("float64")), "integer"),
    ],
)
def test_kinds_are_inferred(series, kind):
    assert kinds(table(x=series))["x"] == kind


def test_values_of_binary_and_categorical_columns():
    cohort = Cohort.of(table(flag=cycle(["Yes", "no"]), stage=cycle(["c", "a", "b", None]), n=cycle([7, 4])), "died")
    values = {column.name: column.values for column in cohort.schema.columns}
    assert values == {"age": (), "flag": ("no", "Yes"), "stage": ("a", "b", "c"), "n": (4, 7)}
    assert cohort.schema.columns[2].missing == pytest.approx(0.25)


def test_ordered_categories_keep_their_order():
    series = pd.Series(
        pd.Categorical(cycle(["mild", "severe", "none"]), ["none", "mild", "severe", "dead"], ordered=True)
    )
    column = Cohort.of(table(x=series), "died").schema.columns[1]
    assert column.values == ("none", "mild", "severe")
    assert column.levels == ("none", "mild", "severe", "dead")
    assert column.ordered


def test_kinds_can_be_overridden():
    frame = table(code=cycle([1, 2, 3]), two=cycle([1, 2]), mixed=cycle(["1", "2", "unknown"]))
    asked = {"code": "categorical", "two": "integer", "mixed": "categorical"}
    assert kinds(frame, kinds=asked) == {"age": "numeric", **asked}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"agee": "numeric"}, "'agee'.*Did you mean 'age'"),
        ({"died": "binary"}, "'died'.*not a feature"),
        ({"age": "numbr"}, "'age'.*Did you mean 'numeric'"),
        ({"sex": "numeric"}, "'sex' cannot be numeric"),
        ({"age": "integer"}, "'age' cannot be integer.*Take 'numeric'"),
        ({"age": "binary"}, "'age' cannot be binary.*400 distinct"),
    ],
)
def test_impossible_overrides(asked, said):
    with pytest.raises(DataError, match=said):
        Cohort.of(table(sex=cycle(["f", "m"])), "died", kinds=asked)


def test_empty_and_constant_columns_are_dropped_with_a_warning():
    frame = table(none=cycle([None, np.nan]), same=5, some=cycle([1, None]), word=cycle(["a", None]))
    cohort = Cohort.of(frame, "died")
    assert list(cohort.frame) == ["age"]
    said = dict(zip(["none", "same", "some", "word"], cohort.warnings, strict=True))
    assert all(repr(name) in warning for name, warning in said.items())
    assert "no value" in said["none"]
    assert "same value" in said["same"]
    assert "write a 0" in said["some"]


def test_numbers_of_patients_are_left_out_unless_they_are_called_measurements():
    frame = pd.concat([table(), table()], ignore_index=True)
    numbers = np.arange(2.0 * ROWS)
    frame = frame.assign(age=numbers / 7, record=numbers.astype(int) * 3, row=numbers)
    frame["chart"] = numbers.copy()
    frame.loc[5, "chart"] = np.nan
    cohort = Cohort.of(frame, "died")
    assert list(cohort.frame) == ["age", "row"]
    assert len(cohort.warnings) == 2
    assert "'record' differs in every row" in cohort.warnings[0]
    assert "--kind record=integer" in cohort.warnings[0]
    assert "'chart' differs in every row" in cohort.warnings[1]
    assert list(Cohort.of(frame, "died", kinds={"record": "integer"}).frame) == ["age", "record", "row"]
    assert list(Cohort.of(frame, "died", features=["age", "record"]).frame) == ["age", "record"]
    assert list(Cohort.from_arrays(frame[["record"]], frame["died"]).frame) == ["record"]


def test_among_few_patients_a_number_that_differs_in_every_row_is_only_warned_of():
    cohort = Cohort.of(table(record=np.arange(ROWS) * 3, row=np.arange(ROWS) * 1.0), "died")
    assert list(cohort.frame) == ["age", "record", "row"]
    assert len(cohort.warnings) == 1
    assert "'record' differs in every row" in cohort.warnings[0]
    assert "--id record" in cohort.warnings[0]


@pytest.mark.parametrize("more", [[], ["<0,5"], ["1.234,5"]])
def test_decimal_commas_are_refused_as_numbers(more):
    series = cycle([f"{number},5" for number in range(30)] + more)
    with pytest.raises(DataError, match=r"'x' (holds \d+ numbers with a decimal comma|mixes \d+ numbers and 12 texts)"):
        Cohort.of(table(x=series), "died")
    assert "x" in Cohort.of(table(x=series), "died", kinds={"x": "categorical"}).frame


def test_all_unusable_columns_are_named_at_once():
    frame = table(seen=days("%d/%m/%Y"), **{"the note": pd.Series([f"by {i % 80}" for i in range(ROWS)])})
    with pytest.raises(DataError, match="2 columns cannot be used") as caught:
        Cohort.of(frame, "died")
    said = str(caught.value)
    assert "'seen' holds dates" in said
    assert "'the note' has 80 categories" in said
    assert said.endswith("--drop seen --drop 'the note'")
    assert list(Cohort.of(frame, "died", drop=["seen", "the note"]).frame) == ["age"]


def test_no_feature_left():
    with pytest.raises(DataError, match="No feature"):
        Cohort.of(table(same=5), "died", drop="age")
    with pytest.raises(DataError, match="No feature"):
        Cohort.of(table(), "died", drop=["age"])


def test_infinities_are_refused_with_their_count():
    with pytest.raises(DataError, match=r"'x' holds 200 infinite values.*empty cell"):
        Cohort.of(table(x=cycle([1.0, np.inf, 2.0, -np.inf])), "died")


@pytest.mark.parametrize("values", [[1, 2, 10**16], [1.5, 1e300, 2.5]])
def test_numbers_beyond_measure_are_refused(values):
    with pytest.raises(DataError, match=r"'x' holds 13\d numbers beyond 1e\+15.*--drop x"):
        Cohort.of(table(x=cycle(values)), "died")


@pytest.mark.parametrize("values", [[1, 2.5, "high"], ["secret", 3]])
def test_mixed_objects_are_refused(values):
    with pytest.raises(DataError, match=r"'x' mixes \d+ numbers and \d+ texts.*--drop x") as caught:
        Cohort.of(table(x=cycle(values, object)), "died")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("marker", ["NA", "?", "-", "unknown"])
def test_markers_among_numbers_are_named(marker):
    for series in (cycle([1.5, 2, 3, marker], object), cycle(["1.5", "2", "3", marker])):
        with pytest.raises(DataError, match=r"'x' mixes 300 numbers and 100 texts.*empty cell") as caught:
            Cohort.of(table(x=series), "died")
        assert repr(marker) in str(caught.value)


@pytest.mark.parametrize("marker", [[], ["?"]])
def test_letters_with_numbers_among_numbers_are_codes(marker):
    icd9 = [str(number) for number in range(400, 430)] + ["250.01", "E909", "V27", "V58.1", "E885", "V45"]
    cohort = Cohort.of(table(diagnosis=cycle(icd9 + marker)), "died")
    assert next(column for column in cohort.schema.columns if column.name == "diagnosis").kind == "categorical"
    with pytest.raises(DataError, match="'x' mixes"):
        Cohort.of(table(x=cycle([*icd9, "see notes"])), "died")


def test_numbers_with_limits_are_refused():
    series = pd.Series(["<0.1" if i % 9 == 0 else str(i / 10) for i in range(ROWS)])
    with pytest.raises(DataError, match=r"'x' mixes 355 numbers and 45 texts"):
        Cohort.of(table(x=series), "died")


def days(form):
    return pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(ROWS), "D")).dt.strftime(form)


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(ROWS), "D")),
        pd.Series(pd.to_timedelta(np.arange(ROWS), "D")),
        cycle([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1), None]),
        days("%Y-%m-%d"),
        days("%Y-%m-%dT%H:%M:%SZ"),
        days("%d/%m/%Y"),
        days("%m/%d/%y"),
        days("%d.%m.%Y %H:%M"),
        days("%d-%b-%Y"),
        days("%b %d, %Y"),
    ],
)
def test_dates_are_refused(series):
    with pytest.raises(DataError, match=r"'when it was'.*dates.*days since admission.*--drop 'when it was'"):
        Cohort.of(table(**{"when it was": series}), "died")


def test_free_text_and_text_ids_are_refused():
    with pytest.raises(DataError, match=r"'note' has 80 categories in 400 rows.*free text.*--drop note"):
        Cohort.of(table(note=pd.Series([f"seen by {i % 80}" for i in range(ROWS)])), "died")
    with pytest.raises(DataError, match=r"'mrn'.*identifier.*--id mrn.*--drop mrn"):
        Cohort.of(table(mrn=pd.Series([f"P{i}" for i in range(ROWS)])), "died")


def test_codes_that_many_patients_share_are_categories():
    codes = pd.Series([f"D{i % 700:03d}" for i in range(14_000)])
    cohort = Cohort.of(pd.DataFrame({"code": codes, "died": np.arange(14_000) % 3 == 0}), "died")
    assert len(cohort.schema.columns[0].values) == 700


@pytest.mark.parametrize("value", [[1], b"x", pd.Interval(0, 1)])
def test_other_objects_are_refused(value):
    with pytest.raises(DataError, match=r"'x' holds values of type.*--drop x"):
        Cohort.of(table(x=pd.Series([value] * ROWS)), "died")


def test_intervals_as_categories_are_refused():
    with pytest.raises(DataError, match=r"'x' holds values of type Interval"):
        Cohort.of(table(x=pd.cut(pd.Series(np.arange(ROWS)), 4)), "died")


def test_leaks_are_warned_of():
    frame = table()
    died = frame["died"].to_numpy()
    rng = np.random.default_rng(0)
    frame["score"] = -died + rng.normal(0, 0.2, ROWS)
    frame["ward"] = np.where(died == 1, "morgue", rng.choice(["a", "b"], ROWS))
    frame["autopsy"] = np.where(died == 1, rng.normal(size=ROWS), np.nan)
    warnings = Cohort.of(frame, "died").warnings
    assert len(warnings) == 3
    assert "Column 'score' alone tells the target 'died' apart" in warnings[0]
    assert "--drop score" in warnings[0]
    assert "Column 'ward' alone" in warnings[1]
    assert "Whether column 'autopsy' is missing" in warnings[2]


def test_a_leak_is_not_called_from_a_handful_of_rows():
    frame = table()
    died = frame["died"].to_numpy()
    rare = np.where(np.arange(ROWS) < 40, died * 2.0 + np.arange(ROWS) / 100, np.nan)
    assert Cohort.of(frame.assign(rare=rare), "died").warnings == ()


def share_of_pairs(scores, labels):
    """AUROC by its meaning: how often a positive scores above a negative, ties counted half."""
    gaps = scores[labels == 1][:, None] - scores[labels == 0][None, :]
    return ((gaps > 0) + (gaps == 0) / 2).mean()


def test_auroc_is_the_share_of_ordered_pairs():
    rng = np.random.default_rng(3)
    values = pd.Series(rng.integers(0, 12, 500).astype(float))
    labels = (rng.random(500) < 0.2 + 0.05 * values).astype(np.int8).to_numpy()
    codes, ordered = _codes(values, values.isna().to_numpy())
    assert _auroc(codes, labels, ordered) == pytest.approx(share_of_pairs(values.to_numpy(), labels))
    shares = values.map(pd.Series(labels).groupby(values).mean())
    assert _auroc(codes, labels, ordered=False) == pytest.approx(share_of_pairs(shares.to_numpy(), labels))


def test_checks_are_fast_on_a_large_table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(100_000, 100)).astype(np.float32)).assign(died=rng.integers(0, 2, 100_000))
    start = time.process_time()
    Cohort.of(frame, "died")
    assert time.process_time() - start < 5

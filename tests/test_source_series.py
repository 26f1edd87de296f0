import gzip
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from attar.cohort.prepared import Channel
from attar.cohort.sources import long, series
from attar.cohort.sources.options import Options
from attar.errors import DataError, RecipeError
from attar.progress import Silent

ROWS = [
    (1, 0.0, "pulse", "80"),
    (1, 0.5, "pulse", "82.5"),
    (1, 0.5, "urine", "100"),
    (1, 0.9, "urine", "50"),
    (1, 1.5, "eyes", "open"),
    (1, 2.5, "eyes", "None"),
    (2, 1.2, "pulse", "61"),
    (2, 1.3, "tube", "1"),
    (2, 2.3, "tube", "0"),
    (2, 2.5, "eyes", "None"),
    (2, 1.7, "urine", "30"),
]
OUTCOMES = "patient,died,age\n2,1,70\n1,0,50\n"


def text(rows=ROWS, delimiter=","):
    return "\n".join(delimiter.join(map(str, row)) for row in [("patient", "time", "variable", "value"), *rows]) + "\n"


def read(folder, rows=ROWS, outcomes=OUTCOMES, **options):
    """Read rows, or the file that is there, with outcomes."""
    (folder / "outcomes.csv").write_text(outcomes)
    file = options.pop("file", folder / "icu.csv")
    if rows is not None:
        file.write_text(text(rows))
    chosen = {"hours": 3, "target": ("died",), "outcomes": folder / "outcomes.csv", **options}
    (prepared,) = series.read(file, Options(**chosen), Silent())
    return prepared


def column(prepared, patient, name):
    names = [channel.name for channel in prepared.channels]
    return prepared.values[prepared.patients["patient"].tolist().index(patient), :, names.index(name)]


def test_values_lie_in_their_hours(tmp_path):
    prepared = read(tmp_path, sums=("urine",))
    assert prepared.channels == (
        Channel(name="eyes", kind="categorical", values=("None", "open")),
        Channel(name="pulse"),
        Channel(name="tube", kind="binary"),
        Channel(name="urine", kind="integer", rule="sum"),
    )
    assert prepared.values.shape == (2, 3, 4)
    nan = np.nan
    assert_array_equal(column(prepared, 1, "pulse"), [82.5, nan, nan])
    assert_array_equal(column(prepared, 1, "urine"), [150, nan, nan])
    assert_array_equal(column(prepared, 1, "eyes"), [nan, 1, 0])
    assert_array_equal(column(prepared, 1, "tube"), [nan, nan, nan])
    assert_array_equal(column(prepared, 2, "pulse"), [nan, 61, nan])
    assert_array_equal(column(prepared, 2, "tube"), [nan, 1, 0])
    assert_array_equal(column(prepared, 2, "eyes"), [nan, nan, 0])
    assert_array_equal(column(prepared, 2, "urine"), [nan, 30, nan])


def test_patients_are_the_rows_of_the_outcomes_with_all_their_columns(tmp_path):
    prepared = read(tmp_path)
    expected = pd.DataFrame({"patient": [2, 1], "died": [1, 0], "age": [70, 50]})
    pd.testing.assert_frame_equal(prepared.patients, expected)
    assert (prepared.name, prepared.id, prepared.targets) == ("icu", "patient", ("died",))
    assert prepared.kept == {"patients": 2, "values": 11}
    assert prepared.dropped == {}
    assert prepared.notes == ()


def test_scattered_rows_and_small_chunks_change_nothing(tmp_path, monkeypatch):
    doubles = [(1, 0.5, "pulse", "84"), (2, 1.7, "urine", "30"), (2, 1.7, "urine", "7")]
    rows = ROWS + doubles
    whole = read(tmp_path, rows, sums=("urine",))
    assert column(whole, 1, "pulse")[0] == 84
    assert column(whole, 2, "urine")[1] == 37
    assert whole.dropped == {"values given twice for one time": 2}
    scattered = [*sorted(ROWS, key=lambda row: row[1]), *doubles]
    monkeypatch.setattr(long, "_BYTES_AT_ONCE", 60)
    monkeypatch.setattr(series, "_ROWS_AT_ONCE", 4)
    again = read(tmp_path, scattered, sums=("urine",))
    assert_array_equal(again.values, whole.values)
    assert (again.channels, again.kept, again.dropped) == (whole.channels, whole.kept, whole.dropped)


def test_parquet_of_text_or_numbers_gives_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(long, "_ROWS_AT_ONCE", 4)
    frame = pd.DataFrame(ROWS, columns=["patient", "time", "variable", "value"])
    frame.to_parquet(tmp_path / "icu.parquet")
    same = read(tmp_path, None, file=tmp_path / "icu.parquet")
    assert_array_equal(same.values, read(tmp_path).values)
    numbers = frame[frame["variable"] != "eyes"].astype({"value": float, "variable": "category"})
    numbers.to_parquet(tmp_path / "icu.parquet")
    fewer = read(tmp_path, None, file=tmp_path / "icu.parquet")
    assert [(row.name, row.kind) for row in fewer.channels] == [
        ("pulse", "numeric"),
        ("tube", "binary"),
        ("urine", "integer"),
    ]
    assert_array_equal(fewer.values, same.values[:, :, 1:])


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters_other_names_and_gzip(tmp_path, delimiter):
    lines = text(delimiter=delimiter).replace("patient", "pid").replace("time", "hour, since admission")
    (tmp_path / "icu.csv.gz").write_bytes(gzip.compress(lines.encode("utf-8-sig")))
    names = {"patient": "pid", "time": "hour, since admission", "outcomes": OUTCOMES.replace("patient", "pid")}
    prepared = read(tmp_path, None, file=tmp_path / "icu.csv.gz", **names)
    assert prepared.kept == {"patients": 2, "values": 11}
    assert prepared.name == "icu"


def test_dates_become_hours_since_the_first_row_of_each_patient(tmp_path):
    start = {1: pd.Timestamp("2150-03-01 23:30"), 2: pd.Timestamp("2101-12-31 08:00")}
    dated = [(who, start[who] + pd.Timedelta(hours=time), what, value) for who, time, what, value in ROWS]
    for prepared in (read(tmp_path, dated), _parquet(tmp_path, dated)):
        assert_array_equal(column(prepared, 1, "pulse"), [82.5, np.nan, np.nan])
        assert_array_equal(column(prepared, 1, "eyes"), [np.nan, 1, 0])
        # The first row of patient 2 is 1.2 hours in: its pulse is at 0, what was at 1.3 and 2.3 at 0.1 and 1.1.
        assert_array_equal(column(prepared, 2, "pulse"), [61, np.nan, np.nan])
        assert_array_equal(column(prepared, 2, "tube"), [1, 0, np.nan])


def _parquet(folder, rows, hours=3):
    pd.DataFrame(rows, columns=["patient", "time", "variable", "value"]).to_parquet(folder / "icu.parquet")
    return read(folder, None, file=folder / "icu.parquet", hours=hours)


def test_columns_of_a_parquet_table_may_have_other_types(tmp_path):
    days = [date(2024, 1, 1), date(2024, 1, 1), date(2024, 1, 2)]
    prepared = _parquet(tmp_path, list(zip([1.0, 2.0, 2.0], days, ["a"] * 3, [True, False, True], strict=True)), 24)
    assert prepared.channels == (Channel(name="a", kind="binary"),)
    assert (column(prepared, 1, "a")[0], *column(prepared, 2, "a")[[0, 23]]) == (1, 0, 1)
    amounts = [Decimal("1.50"), None, Decimal("3.00")]
    prepared = _parquet(tmp_path, list(zip(["1", "1", "2"], [0, 1, 2], ["a"] * 3, amounts, strict=True)))
    assert (column(prepared, 1, "a")[0], column(prepared, 2, "a")[1]) == (1.5, 3)


def test_times_off_the_grid_and_rows_without_value_are_counted(tmp_path):
    extra = [(1, -1, "pulse", "70"), (1, 3.2, "pulse", "71"), (1, 0.7, "pulse", ""), (2, 0.7, "tube", "NA")]
    prepared = read(tmp_path, ROWS + extra)
    assert_array_equal(column(prepared, 1, "pulse"), [82.5, np.nan, np.nan])
    assert prepared.dropped == {"rows without a value": 2, "values before the first hour or after the last": 2}


def test_patients_without_measurement_or_outcome_are_left_out_and_named(tmp_path):
    outcomes = OUTCOMES + "3,0,20\n4,1,30\n5,,40\n"
    rows = [*ROWS, (4, 7.5, "pulse", "70"), (5, 0.5, "pulse", "70"), (9, 0.5, "pulse", "70"), (9, 1, "pulse", "70")]
    prepared = read(tmp_path, rows, outcomes)
    assert prepared.patients["patient"].tolist() == [2, 1]
    assert prepared.values.shape == (2, 3, 4)
    assert prepared.dropped == {
        "patients without a measurement in the first 3 hours": 2,
        "patients without an outcome": 2,
        "values before the first hour or after the last": 1,
    }
    assert prepared.notes == (
        "2 patients without a measurement in the first 3 hours were left out, the first: 3.",
        "2 patients without an outcome were left out, the first: 5.",
    )


def test_a_variable_measured_only_later_is_left_out_and_named(tmp_path):
    prepared = read(tmp_path, [*ROWS, (1, 4.5, "lactate", "2")])
    assert [channel.name for channel in prepared.channels] == ["eyes", "pulse", "tube", "urine"]
    assert prepared.values.shape == (2, 3, 4)
    assert prepared.notes == ("1 variables never measured in the first 3 hours were left out, the first: lactate.",)


def test_ids_match_however_they_are_written(tmp_path):
    rows = [(f"00{who}", *rest) for who, *rest in ROWS]
    assert read(tmp_path, rows).kept["patients"] == 2
    rows = [(f"ward-{who}", *rest) for who, *rest in ROWS]
    assert read(tmp_path, rows, OUTCOMES.replace("2,1", "ward-2,1").replace("1,0", "ward-1,0")).kept["patients"] == 2


def test_a_variable_may_be_called_na(tmp_path):
    rows = [(who, time, "NA" if what == "pulse" else what, value) for who, time, what, value in ROWS]
    assert_array_equal(column(read(tmp_path, rows), 2, "NA"), [np.nan, 61, np.nan])


def test_two_values_that_add_up_are_not_binary(tmp_path):
    prepared = read(tmp_path, [(1, 0.1, "dose", "1"), (1, 0.2, "dose", "1"), (2, 0.1, "dose", "0")], sums=("dose",))
    assert prepared.channels == (Channel(name="dose", kind="integer", rule="sum"),)
    assert prepared.values[:, 0, 0].tolist() == [0, 2]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("", 1.0, "pulse", "80"), "icu.csv, row 12, has no patient"),
        ((1, "", "pulse", "80"), "icu.csv, row 12, has no time"),
        ((1, "soon", "pulse", "80"), "icu.csv, row 12, has a time that is not a number of hours"),
        ((1, 1.0, "", "80"), "icu.csv, row 12, has no variable"),
        ((1, 1.0, "pulse", "1e99"), "icu.csv, row 12, has a value too large"),
        ((1, 1.0, "pulse", "80", "bpm"), "icu.csv, row 12, cannot be read"),
        ((1, 1.0, "pulse"), "icu.csv, row 12, cannot be read"),
    ],
)
def test_a_bad_row_is_named(tmp_path, row, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path, [*ROWS, row])


def test_a_time_that_is_no_date_among_dates_is_named(tmp_path):
    rows = [(1, "2024-01-31 14:05", "pulse", "80"), (1, "31.1.2024", "pulse", "81")]
    with pytest.raises(DataError, match="row 2, has a time that is not a date and time such as"):
        read(tmp_path, rows)


def test_text_among_numbers_is_named(tmp_path):
    rows = [*ROWS, *((1, time / 10, "pulse", str(time)) for time in range(30)), (2, 0.3, "pulse", "high")]
    with pytest.raises(DataError, match="row 42: the variable 'pulse' holds numbers but for 1 rows"):
        read(tmp_path, rows)


def test_too_many_kinds_of_text_are_refused(tmp_path):
    rows = [*ROWS, *((1, time / 10, "note", f"text {time}") for time in range(51))]
    with pytest.raises(DataError, match="'note' holds text of more than 50 kinds"):
        read(tmp_path, rows)
    assert len(read(tmp_path, rows[:-1]).channels[1].values) == 50


def test_decimal_commas_are_refused(tmp_path):
    rows = [(1, "0.5", "temperature", "36,6"), (2, "0.5", "temperature", "37,1")]
    (tmp_path / "icu.csv").write_text(text(rows, ";"))
    with pytest.raises(DataError, match="row 1: the variable 'temperature' has decimal commas"):
        read(tmp_path, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outcomes": None}, "--outcomes FILE"),
        ({"target": ()}, "--target COLUMN"),
        ({"target": ("patient",)}, "both as --patient and as --target"),
        ({"hours": 0}, "leaves no hour"),
    ],
)
def test_missing_options_are_asked_for(tmp_path, options, message):
    (tmp_path / "icu.csv").write_text(text())
    (tmp_path / "outcomes.csv").write_text(OUTCOMES)
    chosen = {"outcomes": tmp_path / "outcomes.csv", "target": ("died",), **options}
    with pytest.raises(RecipeError, match=message):
        series.read(tmp_path / "icu.csv", Options(**chosen), Silent())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": "hours"}, r"icu.csv has no column 'hours'"),
        ({"value": "values"}, r"icu.csv has no column 'values'.* Did you mean 'value'"),
        ({"target": ("dead",)}, r"outcomes.csv has no column 'dead'.* Did you mean 'died'"),
        ({"patient": "pid"}, r"outcomes.csv has no column 'pid'"),
        ({"sums": ("urin",)}, r"no variable 'urin', named in --sums. Did you mean 'urine'"),
        ({"sums": ("eyes",)}, r"'eyes' holds text, which cannot be added up"),
    ],
)
def test_names_that_are_not_there_are_answered_with_near_ones(tmp_path, options, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path, **options)


@pytest.mark.parametrize(
    ("outcomes", "message"),
    [
        ("patient,died\n1,0\n2,1\n1,1\n", "1 has rows 1 and 3"),
        ("patient,died\n1,0\n,1\n", "outcomes.csv, row 2, has no patient"),
        ("patient,died\n7,0\n8,1\n", "No patient of .* has a measurement"),
    ],
)
def test_unusable_outcomes_are_refused(tmp_path, outcomes, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path, outcomes=outcomes)


def test_a_file_without_rows_or_of_another_kind_is_refused(tmp_path):
    with pytest.raises(DataError, match="no rows"):
        read(tmp_path, [])
    with pytest.raises(DataError, match="is a folder"):
        read(tmp_path, None, file=tmp_path)
    (tmp_path / "icu.csv").write_text("")
    with pytest.raises(DataError, match="no column 'patient'"):
        read(tmp_path, None)
    (tmp_path / "icu.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="not a readable Parquet file"):
        read(tmp_path, None, file=tmp_path / "icu.parquet")
    (tmp_path / "icu.csv").write_bytes(text().encode().replace(b"open", b"ge\xf6ffnet"))
    with pytest.raises(DataError, match="row 5, cannot be read: it needs UTF-8"):
        read(tmp_path, None)

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from attar.cohort.sources import long, physionet2012, records
from attar.cohort.sources.options import Options
from attar.errors import DataError, RecipeError
from attar.progress import Silent

DATA = Path(os.environ.get("ATTAR_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
NAMES = [channel.name for channel in physionet2012.CHANNELS]
OUTCOMES = "RecordID,SAPS-I,SOFA,Length_of_stay,Survival,In-hospital_death"


def lines(record: int, rows: str = "", static: str = "54,0,-1,4,-1") -> str:
    """Return a record: descriptors of admission, then rows of time, parameter and value parted by blanks."""
    named = zip(("Age", "Gender", "Height", "ICUType", "Weight"), static.split(","), strict=True)
    head = ["Time,Parameter,Value", f"00:00,RecordID,{record}", *(f"00:00,{name},{value}" for name, value in named)]
    return "\n".join([*head, *rows.split()]) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two stays of set a and one of set b."""
    for name in ("set-a", "set-b"):
        (tmp_path / name).mkdir()
    rows = "00:07,HR,73 00:07,Urine,100 00:37,HR,77 00:45,Urine,60 01:00,HR,79 24:00,HR,80 24:01,HR,81 48:00,HR,82"
    (tmp_path / "set-a/132539.txt").write_text(lines(132539, rows))
    (tmp_path / "set-a/132540.txt").write_text(lines(132540, "00:00,Weight,81.6 01:01,GCS,3", "76,1,175.3,2,80.6"))
    (tmp_path / "set-b/142675.txt").write_text(lines(142675, "10:30,pH,7.4 10:30,MechVent,1", "70,-1,14,1,700"))
    (tmp_path / "Outcomes-a.txt").write_text(f"{OUTCOMES}\n132539,6,1,5,-1,0\n132540,16,8,8,-1,1\n")
    (tmp_path / "Outcomes-b.txt").write_text(f"{OUTCOMES}\n142675,19,11,12,-1,1\n")
    return tmp_path


def as_parquet(folder: Path, target: Path) -> Path:
    """Write the same stays as the long Parquet table."""
    records, stays = [], []
    for name in ("a", "b"):
        table = pd.read_csv(folder / f"Outcomes-{name}.txt")
        stays.append(table.assign(set=name))
        for record in table["RecordID"]:
            rows = pd.read_csv(folder / f"set-{name}/{record}.txt").iloc[1:]
            clock = rows["Time"].str.split(":", expand=True).astype(int)
            minutes = (60 * clock[0] + clock[1]).astype("int16")
            records.append(rows.drop(columns="Time").assign(RecordID=np.int32(record), minutes=minutes))
    long = pd.concat(records)[["RecordID", "minutes", "Parameter", "Value"]]
    long = long.astype({"Parameter": "category", "Value": "float32"})
    target.mkdir()
    long.to_parquet(target / "observations_long.parquet", index=False)
    pd.concat(stays).to_parquet(target / "stays.parquet", index=False)
    return target


def read(folder: Path, **options):
    (prepared,) = physionet2012.read(folder, Options(**options), Silent())
    return prepared


def hours(prepared, stay: int, name: str) -> dict[int, float]:
    """Return what a channel holds, by hour."""
    column = prepared.values[stay, :, NAMES.index(name)]
    return {int(hour): round(float(column[hour]), 4) for hour in np.flatnonzero(~np.isnan(column))}


def test_values_lie_in_their_hours_and_urine_adds_up(folder):
    prepared = read(folder)
    assert prepared.values.shape == (3, 48, 37)
    assert hours(prepared, 0, "HR") == {0: 79, 23: 80, 24: 81, 47: 82}
    assert hours(prepared, 0, "Urine") == {0: 160}
    assert hours(prepared, 1, "GCS") == {1: 3}
    assert hours(prepared, 1, "Weight") == {0: 81.6}
    assert hours(prepared, 2, "pH") == {10: 7.4}
    assert hours(prepared, 2, "MechVent") == {10: 1}
    assert np.isfinite(prepared.values).sum() == 9


def test_patients_have_descriptors_set_and_outcome_and_no_scores(folder):
    prepared = read(folder)
    expected = pd.DataFrame(
        {
            "RecordID": [132539, 132540, 142675],
            "set": ["a", "a", "b"],
            "age_years": [54.0, 76.0, 70.0],
            "gender_male": [0.0, 1.0, np.nan],
            "height_cm": [np.nan, 175.3, np.nan],
            "icu_type": ["surgical", "cardiac surgery recovery", "coronary care"],
            "weight_kg": [np.nan, 80.6, np.nan],
            "in_hospital_death": np.array([0, 1, 1], np.int8),
        }
    )
    pd.testing.assert_frame_equal(prepared.patients, expected)
    assert (prepared.id, prepared.groups, prepared.targets) == ("RecordID", ("set",), ("in_hospital_death",))


def test_kept_and_dropped_account_for_every_row(folder):
    prepared = read(folder)
    # A weight of -1 is unknown, one of 700 impossible, and the descriptor 80.6 is followed by 81.6 at the same time.
    assert prepared.kept == {"stays": 3, "values": 12}
    assert prepared.dropped == {
        "rows without a value": 1,
        "values no living patient can have": 1,
        "values given twice for one time": 1,
    }


def test_fewer_hours_leave_later_values_out(folder):
    prepared = read(folder, hours=24)
    assert prepared.values.shape == (3, 24, 37)
    assert hours(prepared, 0, "HR") == {0: 79, 23: 80}
    assert prepared.dropped["values after hour 24"] == 2


@pytest.mark.parametrize("count", [0, 49])
def test_hours_that_no_record_has_are_refused(folder, count):
    with pytest.raises(RecipeError, match="1 to 48"):
        read(folder, hours=count)


def test_only_some_sets(folder):
    assert read(folder, only=("b",)).patients["RecordID"].tolist() == [142675]
    with pytest.raises(DataError, match=r"no set 'd'.* Known: a, b"):
        read(folder, only=("d",))


@pytest.mark.parametrize("rows_at_once", [2, 5, 1000])
def test_the_parquet_table_gives_the_same(folder, tmp_path, monkeypatch, rows_at_once):
    monkeypatch.setattr(long, "_ROWS_AT_ONCE", rows_at_once)
    table = as_parquet(folder, tmp_path / "long")
    for only in ((), ("a",), ("b",)):
        one, other = read(folder, only=only), read(table, only=only)
        assert_array_equal(one.values, other.values)
        pd.testing.assert_frame_equal(one.patients, other.patients)
        assert (one.kept, one.dropped, one.notes) == (other.kept, other.dropped, other.notes)


def test_records_may_be_read_in_several_gulps(folder, monkeypatch):
    whole = read(folder)
    monkeypatch.setattr(records, "_FILES_AT_ONCE", 2)
    assert_array_equal(read(folder).values, whole.values)


def test_a_stay_without_measurement_is_kept_and_named(folder):
    (folder / "set-a/132540.txt").write_text(lines(132540))
    prepared = read(folder)
    assert len(prepared.patients) == 3
    assert np.isnan(prepared.values[1]).all()
    assert prepared.notes == (
        "1 stays have no measurement in the first 48 hours and were kept, the first: RecordID 132540.",
    )


def test_line_ends_of_windows_and_a_missing_last_one_do_not_matter(folder):
    whole, file = read(folder), folder / "set-a/132539.txt"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n").removesuffix(b"\r\n"))
    assert_array_equal(read(folder).values, whole.values)


def test_impossible_values_are_missing_and_do_not_hide_earlier_ones(folder):
    rows = "00:10,SysABP,110 00:50,SysABP,0 02:10,pH,735 03:10,Temp,-17.8 04:10,HR,nan 05:10,WBC,inf"
    (folder / "set-b/142675.txt").write_text(lines(142675, rows))
    prepared = read(folder, only=("b",))
    assert hours(prepared, 0, "SysABP") == {0: 110}
    assert np.isfinite(prepared.values).sum() == 1
    assert prepared.dropped == {"rows without a value": 2, "values no living patient can have": 4}


def test_unknown_parameters_are_left_out_counted_and_named(folder):
    (folder / "set-b/142675.txt").write_text(lines(142675, "00:10,HR,80 00:20,Pulse,80 00:30,Pulse,81"))
    prepared = read(folder)
    assert prepared.dropped["rows of unknown parameters"] == 2
    assert "Unknown parameters were left out: Pulse." in prepared.notes


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("00:10,HR", "cannot be read: it needs 3 fields"),
        ("00:10,HR,80,1", "cannot be read: it needs 3 fields"),
        ("00:10,HR,high", "cannot be read: .* numbers where numbers belong"),
        ("0.5,HR,80", "has no time such as 07:30"),
        ("00:70,HR,80", "has no time"),
        (",HR,80", "has no time"),
    ],
)
def test_a_malformed_line_is_named_with_its_file(folder, bad, message):
    (folder / "set-a/132540.txt").write_text(lines(132540, f"00:05,HR,80 {bad} 00:20,HR,81"))
    with pytest.raises(DataError, match=rf"132540.txt, line 9, {message}"):
        read(folder)


def test_a_record_of_another_name_is_refused(folder):
    (folder / "set-a/132540.txt").write_text(lines(132541))
    with pytest.raises(DataError, match=r"132540.txt, line 2, does not give the RecordID"):
        read(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Time,Parameter,Value\n", "132540.txt has column names but no rows"),
        ("Time,Parameter\n00:00,Age\n", "132540.txt has no column 'Value'"),
        ("Parameter,Time,Value\nAge,00:00,3\n", "132540.txt has its columns in another order"),
    ],
)
def test_a_file_that_is_no_record_is_refused(folder, text, message):
    (folder / "set-a/132540.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        read(folder)


def test_a_record_without_outcome_is_refused(folder):
    (folder / "set-b/142676.txt").write_text(lines(142676))
    with pytest.raises(DataError, match=r"Outcomes-b.txt has no row for 1 of 2 stays, the first: 142676"):
        read(folder)


def test_an_outcome_without_record_is_refused(folder):
    (folder / "set-a/132540.txt").unlink()
    with pytest.raises(DataError, match=r"Outcomes-a.txt has 1 rows without a record, the first: 132540"):
        read(folder)


@pytest.mark.parametrize("label", ["2", "", "yes"])
def test_an_outcome_other_than_0_and_1_is_refused(folder, label):
    (folder / "Outcomes-a.txt").write_text(f"{OUTCOMES}\n132539,6,1,5,-1,0\n132540,16,8,8,-1,{label}\n")
    with pytest.raises(DataError, match=r"Outcomes-a.txt, row 2: the outcome 'In-hospital_death' is neither 0 nor 1"):
        read(folder)


def test_two_outcomes_of_a_record_are_refused(folder):
    (folder / "Outcomes-b.txt").write_text(f"{OUTCOMES}\n142675,19,11,12,-1,1\n142675,19,11,12,-1,0\n")
    with pytest.raises(DataError, match=r"142675 has rows 1 and 2"):
        read(folder)


def test_a_folder_of_something_else_is_refused(tmp_path):
    with pytest.raises(DataError, match="holds neither set-a"):
        read(tmp_path)
    (tmp_path / "set-a").mkdir()
    with pytest.raises(DataError, match=r"no file such as 132539.txt"):
        read(tmp_path)


def test_other_outcomes_replace_death(folder, tmp_path):
    table = pd.DataFrame({"RecordID": [142675, 132540, 132539, 7], "fever": [1, 0, 1, 0], "coma": [0, 0, 1, 1]})
    table.to_csv(tmp_path / "events.csv", index=False)
    prepared = read(folder, outcomes=tmp_path / "events.csv", hours=24)
    assert prepared.targets == ("fever", "coma")
    assert prepared.patients[["fever", "coma"]].to_numpy().tolist() == [[1, 1], [0, 0], [1, 0]]
    assert "in_hospital_death" not in prepared.patients
    assert prepared.dropped["rows of outcomes without a stay"] == 1
    assert any("1 rows of" in note and "have no stay, the first: 7" in note for note in prepared.notes)


def test_other_outcomes_of_sets_left_alone_are_passed_over(folder, tmp_path):
    pd.DataFrame({"RecordID": [142675, 132540, 132539], "fever": 1}).to_parquet(tmp_path / "events.parquet")
    for path in (folder, as_parquet(folder, tmp_path / "long")):
        prepared = read(path, only=("b",), outcomes=tmp_path / "events.parquet")
        assert prepared.patients["fever"].tolist() == [1]
        assert "rows of outcomes without a stay" not in prepared.dropped


def test_other_outcomes_must_cover_every_stay_and_have_names_of_their_own(folder, tmp_path):
    events = tmp_path / "events.csv"
    events.write_text("RecordID,fever\n132539,1\n")
    with pytest.raises(DataError, match=r"events.csv has no row for 2 of 3 stays, the first: 132540, 142675"):
        read(folder, outcomes=events)
    events.write_text("RecordID,set\n132539,1\n132540,1\n142675,0\n")
    with pytest.raises(DataError, match=r"'set' of .* has the name of an input"):
        read(folder, outcomes=events)
    events.write_text("Record,fever\n132539,1\n")
    with pytest.raises(DataError, match=r"no column 'RecordID'.* Did you mean 'Record'"):
        read(folder, outcomes=events)


def spoil(long: Path, change) -> None:
    file = long / "observations_long.parquet"
    change(pd.read_parquet(file)).to_parquet(file, index=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[rows["RecordID"] != 132540], "no rows of 1 stays, the first: 132540"),
        (lambda rows: rows.replace({"RecordID": {132540: 132541}}), "records that stays.parquet lacks.* 132541"),
        (lambda rows: rows[::-1], "row 8: RecordID is not ascending"),
        (lambda rows: rows.rename(columns={"minutes": "minute"}), "no column 'minutes'.* Did you mean 'minute'"),
        (lambda rows: rows.assign(minutes=rows["minutes"].where(rows.index != 3)), "row 4, has no minutes"),
    ],
)
def test_a_spoilt_parquet_table_is_refused(folder, tmp_path, change, message):
    long = as_parquet(folder, tmp_path / "long")
    spoil(long, change)
    with pytest.raises(DataError, match=message):
        read(long)


def test_a_damaged_parquet_table_is_refused(folder, tmp_path):
    long = as_parquet(folder, tmp_path / "long")
    (long / "observations_long.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="not a readable Parquet file"):
        read(long)


def test_the_grid_of_real_stays_is_the_one_others_made(tmp_path):
    source = DATA / "physionet2012_icu_mortality"
    if not source.exists():
        pytest.skip(f"no {source}; set ATTAR_DATA to the folder that holds it")
    known = np.load(source / "hourly_grid.npz")
    assert known["feature_names"].tolist() == NAMES
    stays = pd.read_parquet(source / "stays.parquet").iloc[-400:]
    stays.to_parquet(tmp_path / "stays.parquet", index=False)
    first = pa.scalar(int(stays["RecordID"].iloc[0]), pa.int32())
    rows = pq.read_table(source / "observations_long.parquet", filters=pa.compute.field("RecordID") >= first)
    pq.write_table(rows, tmp_path / "observations_long.parquet")
    prepared = read(tmp_path)
    assert_array_equal(prepared.values, known["X"][-400:])
    assert_array_equal(prepared.patients["in_hospital_death"], known["y"][-400:])
    for name in ("age_years", "gender_male", "height_cm", "weight_kg"):
        np.testing.assert_allclose(prepared.patients[name], stays[name], atol=1e-4)

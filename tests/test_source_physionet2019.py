import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from attar.cohort.sources import long, physionet2019, records
from attar.cohort.sources.options import Options
from attar.errors import DataError, RecipeError
from attar.progress import Silent

DATA = Path(os.environ.get("ATTAR_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
HEADER = (
    "HR|O2Sat|Temp|SBP|MAP|DBP|Resp|EtCO2|BaseExcess|HCO3|FiO2|pH|PaCO2|SaO2|AST|BUN|Alkalinephos|Calcium|Chloride|"
    "Creatinine|Bilirubin_direct|Glucose|Lactate|Magnesium|Phosphate|Potassium|Bilirubin_total|TroponinI|Hct|Hgb|PTT|"
    "WBC|Fibrinogen|Platelets|Age|Gender|Unit1|Unit2|HospAdmTime|ICULOS|SepsisLabel"
)
NAMES = [channel.name for channel in physionet2019.CHANNELS]


def line(hour, label=0, **found) -> str:
    """Return the row of an hour; what is not given was not measured."""
    static = {"Age": 83.14, "Gender": 0, "Unit1": "NaN", "Unit2": "NaN", "HospAdmTime": -0.03}
    row = {**static, "ICULOS": hour, "SepsisLabel": label, **found}
    return "|".join(str(row.get(name, "NaN")) for name in HEADER.split("|"))


def write(folder: Path, number: int, rows: list[str]) -> Path:
    file = folder / f"p{number:06}.psv"
    file.write_text("\n".join([HEADER, *rows]) + "\n")
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of five stays, one is short, one septic early, one septic later."""
    one, two = tmp_path / "training/training_setA", tmp_path / "training/training_setB"
    one.mkdir(parents=True)
    two.mkdir()
    write(one, 1, [line(1, HR=97.0, FiO2=0.4), line(2, HR=89.0, FiO2=4000), line(3), line(4, HR=90.0, Temp=36.11)])
    write(one, 2, [line(1, HR=60), line(2, HR=61)])
    write(two, 100001, [line(hour, int(hour > 2), HR=70, Unit1=1, Unit2=0) for hour in (1, 2, 3)])
    write(two, 100002, [line(hour, int(hour > 3), Lactate=hour, Unit1=0, Unit2=1) for hour in (2, 3, 4)])
    write(two, 100003, [line(1), line(2), line(3)])
    return tmp_path


def as_parquet(folder: Path, target: Path) -> Path:
    """Write the same stays as the long Parquet table."""
    files = sorted(folder.rglob("p*.psv"))
    frames = [pd.read_csv(file, sep="|").assign(patient_id=np.int32(file.stem[1:])) for file in files]
    table = pd.concat(frames)
    target.mkdir()
    table[["patient_id", *HEADER.split("|")]].to_parquet(target / "hourly_long.parquet", index=False)
    return target


def read(folder: Path, hours: int = 3, **options):
    (prepared,) = physionet2019.read(folder, Options(hours=hours, **options), Silent())
    return prepared


def test_the_row_of_an_hour_fills_that_hour(folder):
    prepared = read(folder)
    nan = np.nan
    assert prepared.values.shape == (3, 3, 34)
    assert_array_equal(prepared.values[0, :, NAMES.index("HR")], [97, 89, nan])
    assert_array_equal(prepared.values[0, :, NAMES.index("FiO2")], np.float32([0.4, nan, nan]))
    assert_array_equal(prepared.values[1, :, NAMES.index("Lactate")], [nan, 2, 3])
    assert np.isfinite(prepared.values).sum() == 5


def test_channels_are_the_vitals_and_labs_of_the_files():
    assert HEADER.split("|")[:34] == NAMES


def test_patients_have_descriptors_and_sepsis_to_come(folder):
    prepared = read(folder)
    expected = pd.DataFrame(
        {
            "patient_id": [1, 100002, 100003],
            "age_years": [83.14] * 3,
            "gender_male": [0.0] * 3,
            "unit1_micu": [np.nan, 0, np.nan],
            "unit2_sicu": [np.nan, 1, np.nan],
            "hosp_adm_time_h": [-0.03] * 3,
            "sepsis": np.array([0, 1, 0], np.int8),
        }
    )
    pd.testing.assert_frame_equal(prepared.patients, expected)
    assert (prepared.id, prepared.targets) == ("patient_id", ("sepsis",))


def test_short_and_septic_stays_are_left_out_and_counted(folder):
    prepared = read(folder)
    assert prepared.kept == {"stays": 3, "values": 5}
    assert prepared.dropped == {
        "stays of less than 3 hours": 1,
        "stays with sepsis in the first 3 hours": 1,
        "values no living patient can have": 1,
    }
    assert prepared.notes == (
        "Sepsis comes after hour 3 in 1 of 3 stays, which is few: --hours 12 may leave more.",
        "1 stays have no measurement in the first 3 hours and were kept, the first: patient_id 100003.",
    )


def test_fewer_hours_keep_more_stays(folder):
    prepared = read(folder, hours=2)
    assert prepared.patients["patient_id"].tolist() == [1, 2, 100001, 100002, 100003]
    assert prepared.patients["sepsis"].tolist() == [0, 0, 1, 1, 0]


@pytest.mark.parametrize("rows_at_once", [1, 4, 1000])
def test_the_parquet_table_gives_the_same(folder, tmp_path, monkeypatch, rows_at_once):
    monkeypatch.setattr(long, "_ROWS_AT_ONCE", rows_at_once)
    one, other = read(folder), read(as_parquet(folder, tmp_path / "long"))
    assert_array_equal(one.values, other.values)
    pd.testing.assert_frame_equal(one.patients, other.patients)
    assert (one.kept, one.dropped, one.notes) == (other.kept, other.dropped, other.notes)


def test_files_may_be_read_in_several_gulps_and_lie_in_the_folder_itself(folder, monkeypatch):
    whole = read(folder)
    monkeypatch.setattr(records, "_FILES_AT_ONCE", 2)
    for file in folder.rglob("p*.psv"):
        file.rename(folder / file.name)
    assert_array_equal(read(folder).values, whole.values)


def test_other_outcomes_replace_sepsis_and_its_exclusion(folder, tmp_path):
    table = pd.DataFrame({"patient_id": [100003, 100002, 100001, 1, 2, 9], "died": [1, 0, 1, 0, 0, 0]})
    table.to_csv(tmp_path / "died.csv", index=False)
    prepared = read(folder, outcomes=tmp_path / "died.csv")
    assert prepared.targets == ("died",)
    assert prepared.patients["patient_id"].tolist() == [1, 100001, 100002, 100003]
    assert prepared.patients["died"].tolist() == [0, 1, 0, 1]
    assert prepared.dropped["rows of outcomes without a stay"] == 1
    assert "the first: 9." in prepared.notes[0]
    table.iloc[:3].to_csv(tmp_path / "died.csv", index=False)
    with pytest.raises(DataError, match=r"died.csv has no row for 1 of 4 stays, the first: 1\."):
        read(folder, outcomes=tmp_path / "died.csv")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([line(1), line(2) + "|1"], "line 3, cannot be read: it needs 41 fields"),
        ([line(1), line(2, HR="high")], "line 3, cannot be read: .* numbers"),
        ([line(1), line(1)], "line 3: ICULOS does not increase"),
        ([line(2), line(1)], "line 3: ICULOS does not increase"),
        ([line(1), line(2), line("NaN")], "line 4: ICULOS is not a whole number from 1 on"),
        ([line(0)], "line 2: ICULOS is not a whole number from 1 on"),
        ([line(1.5)], "line 2: ICULOS is not a whole number from 1 on"),
        ([line(1), line(2, 2)], "line 3: SepsisLabel is neither 0 nor 1"),
        ([line(1), line(2, "NaN")], "line 3: SepsisLabel is neither 0 nor 1"),
    ],
)
def test_a_bad_row_is_named_with_its_file(folder, rows, message):
    write(folder / "training/training_setA", 2, rows)
    with pytest.raises(DataError, match=f"p000002.psv, {message}"):
        read(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + "\n", "p000002.psv has column names but no rows"),
        ("", "p000002.psv has no column 'HR'"),
        (HEADER.removesuffix("|SepsisLabel") + "\n" + line(1)[:-2] + "\n", "p000002.psv has no column 'SepsisLabel'"),
        (HEADER + "|Ward\n" + line(1) + "|3\n", "p000002.psv has its columns in another order, or more"),
    ],
)
def test_a_file_that_is_no_stay_is_refused(folder, text, message):
    (folder / "training/training_setA/p000002.psv").write_text(text)
    with pytest.raises(DataError, match=message):
        read(folder)


def test_a_stay_that_is_there_twice_is_refused(folder):
    write(folder, 100002, [line(1)])
    with pytest.raises(DataError, match=r"p100002.psv and .*p100002.psv are one stay"):
        read(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[::-1], "row 4: patient_id is not ascending"),
        (lambda rows: rows.assign(ICULOS=rows["ICULOS"].mask(rows.index == 5, 1)), "row 6: ICULOS does not increase"),
        (lambda rows: rows.drop(columns="Temp"), "no column 'Temp'"),
        (lambda rows: rows.assign(patient_id=rows["patient_id"].where(rows.index != 3)), "row 4, has no patient_id"),
    ],
)
def test_a_spoilt_parquet_table_is_refused(folder, tmp_path, monkeypatch, change, message):
    monkeypatch.setattr(long, "_ROWS_AT_ONCE", 5)
    file = as_parquet(folder, tmp_path / "long") / "hourly_long.parquet"
    change(pd.read_parquet(file)).to_parquet(file, index=False)
    with pytest.raises(DataError, match=message):
        read(file.parent)


def test_nothing_to_read_is_said(folder, tmp_path):
    with pytest.raises(DataError, match="lasts 99 hours"):
        read(folder, hours=99)
    with pytest.raises(RecipeError, match="leaves no hour"):
        read(folder, hours=0)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"neither hourly_long.parquet nor files such as p000001.psv"):
        read(tmp_path / "empty")


def test_real_stays_are_those_others_chose(tmp_path):
    source = DATA / "physionet2019_sepsis_setB"
    if not source.exists():
        pytest.skip(f"no {source}; set ATTAR_DATA to the folder that holds it")
    chosen = pa.compute.field("patient_id") <= pa.scalar(100500, pa.int32())
    pq.write_table(pq.read_table(source / "hourly_long.parquet", filters=chosen), tmp_path / "hourly_long.parquet")
    known = pd.read_parquet(source / "tabular_first12h.parquet", filters=[("patient_id", "<=", 100500)])
    prepared = read(tmp_path, hours=12)
    assert_array_equal(prepared.patients["patient_id"], known["patient_id"])
    assert_array_equal(prepared.patients["sepsis"], known["sepsis"])
    np.testing.assert_allclose(prepared.patients["hosp_adm_time_h"], known["hosp_adm_time_h"], atol=1e-3)
    for column, name in enumerate(NAMES):
        last = pd.DataFrame(prepared.values[:, :, column]).ffill(axis=1).iloc[:, -1]
        if name != "FiO2":
            assert_array_equal(last, known[name])

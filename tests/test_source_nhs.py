from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attar.cohort.sources import nhs
from attar.cohort.sources.options import Options
from attar.errors import DataError, RecipeError
from attar.progress import Silent

NAMES = [known.name for known in nhs.PREDICTORS]
# The columns as two sites may spell them, in the order of PREDICTORS.
SPELT = {
    "HR": "Vital_Sign Heart Rate",
    "RR": "Vital_Sign Respiratory Rate",
    "SpO2": "Vital_Sign Oxygen Saturation",
    "SBP": "Vital_Sign Systolic Blood Pressure",
    "DBP": "Vital_Sign Diastolic Blood Pressure",
    "Temp": "Vital_Sign Temperature Tympanic",
    "Hb": "Blood_Test HAEMOGLOBIN",
    "Hct": "Blood_Test HAEMATOCRIT",
    "MCV": "Blood_Test MEAN CELL VOL.",
    "WCC": "Blood_Test WHITE CELLS",
    "Neut": "Blood_Test NEUTROPHILS",
    "Lymph": "Blood_Test LYMPHOCYTES",
    "Mono": "Blood_Test MONOCYTES",
    "Eos": "Blood_Test EOSINOPHILS",
    "Baso": "Blood_Test BASOPHILS",
    "Plt": "Blood_Test PLATELETS",
    "Alb": "Blood_Test ALBUMIN",
    "ALP": "Blood_Test ALK.PHOSPHATASE",
    "ALT": "Blood_Test ALT",
    "Bili": "Blood_Test BILIRUBIN",
    "CRP": "Blood_Test CRP",
    "Na": "Blood_Test SODIUM",
    "K": "Blood_Test POTASSIUM",
    "Creat": "Blood_Test CREATININE",
    "Urea": "Blood_Test UREA",
    "eGFR": "Blood_Test eGFR",
}
SHORT, WARDS = list(SPELT), list(SPELT.values())


def frame(names=NAMES, **more):
    """Four presentations; the measurement at place p is 10 p, 10 p + 1, ... so that a mix-up would show."""
    return pd.DataFrame({name: 10 * place + np.arange(4) for place, name in enumerate(names)} | more)


def write(folder, file, table):
    folder.mkdir(exist_ok=True)
    path = folder / file
    table.to_parquet(path) if path.suffix == ".parquet" else table.to_csv(path, index=False)
    return path


def one(tmp_path, table):
    return write(tmp_path, "oxford.csv", table)


def read(path, **options):
    return nhs.read(Path(path), Options(**options), Silent())


def refused(path, said, error=DataError, **options):
    with pytest.raises(error, match=said) as caught:
        read(path, **options)
    return str(caught.value)


def test_the_26_measurements():
    assert len(NAMES) == len(set(NAMES)) == 26
    assert all(known.unit for known in nhs.PREDICTORS)
    assert nhs.FEWEST == 13
    words = [nhs._plain(word) for known in nhs.PREDICTORS for word in (known.name, *known.synonyms)]
    assert len(words) == len(set(words))


def test_sites_are_kept_apart_under_the_same_names(tmp_path):
    folder = tmp_path / "sites"
    write(folder, "oxford.csv", frame(covid19_positive=[0, 1, 0, 0]))
    write(folder, "portsmouth.parquet", frame(SHORT, Covid=[1, 1, 0, 1])[["Covid", *SHORT[::-1]]])
    write(folder, "birmingham.csv.gz", frame(WARDS, COVID_positive=["no", "yes", "no", "no"]))
    (folder / "README.txt").write_text("Not a site.")
    (folder / "._oxford.csv").write_bytes(b"\0\0")
    seen = []
    watch = Silent()
    watch.stage = lambda title, total, done=0: seen.append((title, total))
    watch.update = lambda done, note="": seen.append((done, note))
    cohorts = nhs.read(folder, Options(), watch)
    assert [cohort.name for cohort in cohorts] == ["birmingham", "oxford", "portsmouth"]
    assert seen == [("reading", 3), (1, "birmingham"), (2, "oxford"), (3, "portsmouth")]
    for cohort in cohorts:
        assert list(cohort.patients) == [*NAMES, "covid19_positive"]
        assert cohort.targets == ("covid19_positive",)
        assert cohort.patients[NAMES].to_numpy().tolist() == frame().to_numpy().tolist()
        assert cohort.values is None
        assert cohort.id is None
        assert cohort.kept == {"presentations": 4, "measurements": 26}
        assert not cohort.dropped
    assert [cohort.patients["covid19_positive"].tolist() for cohort in cohorts] == [
        ["no", "yes", "no", "no"],
        [0, 1, 0, 0],
        [1, 1, 0, 1],
    ]
    assert cohorts[1].notes == ()
    assert "'Covid' of" in cohorts[2].notes[0]
    assert "called 'covid19_positive'" in cohorts[2].notes[0]


@pytest.mark.parametrize(
    ("spelt", "meant"),
    [
        ("Heart Rate (bpm)", "heart_rate"),
        ("heart-rate", "heart_rate"),
        ("WHITE_CELL_COUNT [10^9/L]", "white_cell_count"),
        ("C-reactive protein", "c_reactive_protein"),
        ("Na+", "sodium"),
        ("hemoglobin", "haemoglobin"),
        ("Oxygen  saturation (%)", "oxygen_saturation"),
    ],
)
def test_spellings(tmp_path, spelt, meant):
    table = frame(label=[0, 1, 0, 1]).rename(columns={meant: spelt})
    (cohort,) = read(one(tmp_path, table))
    assert cohort.patients[meant].tolist() == table[spelt].tolist()
    assert cohort.kept["measurements"] == 26


def test_only_some_sites(tmp_path):
    for site in ("oxford", "portsmouth", "birmingham"):
        write(tmp_path, f"{site}.csv", frame(covid=[0, 1, 0, 1]))
    assert [cohort.name for cohort in read(tmp_path, only=("portsmouth", "birmingham"))] == ["birmingham", "portsmouth"]
    refused(tmp_path, "no file of a site 'porthsmouth'.*'portsmouth'", only=("oxford", "porthsmouth"))


def test_patient_age_and_sex(tmp_path):
    more = {"GENDER": list("fmfm"), "Patient ID": list("aabc"), "Age": [40, 51, 62, 73], "y": [0, 1, 0, 1]}
    (cohort,) = read(one(tmp_path, frame(**more)))
    assert list(cohort.patients) == ["patient", "age", "sex", *NAMES, "covid19_positive"]
    assert cohort.id == "patient"
    assert cohort.patients["patient"].tolist() == list("aabc")
    assert cohort.patients["sex"].tolist() == list("fmfm")


def test_columns_that_are_missing_or_not_used(tmp_path):
    more = {"nhs_number": range(4), "Delivery device used": list("abab"), "label": [0, 1, 0, 1]}
    (cohort,) = read(one(tmp_path, frame(**more).drop(columns=["urea", "egfr"])))
    said = " ".join(cohort.notes)
    assert "lacks 2 of 26 measurements: urea (mmol/L), egfr (mL/min/1.73m2)" in said
    assert "2 column(s) of" in said
    assert "not used: nhs_number, Delivery device used." in said
    assert list(cohort.patients) == [*NAMES[:24], "covid19_positive"]
    assert cohort.kept["measurements"] == 24
    half = frame(NAMES[:13], label=[0, 1, 0, 1])
    assert read(one(tmp_path, half))[0].kept["measurements"] == 13
    refused(
        one(tmp_path, half.drop(columns="heart_rate")),
        r"oxford\.csv has 12 of the 26.*fewer than 13.*heart_rate \(bpm\)",
    )


def test_two_columns_of_one_meaning(tmp_path):
    refused(
        one(tmp_path, frame(HR=[1, 2, 3, 4], covid=[0, 1, 0, 1])), "'heart_rate' and 'HR' of .* both mean heart_rate"
    )
    refused(one(tmp_path, frame(sex=list("fmfm"), Gender=list("fmfm"), covid=[0, 1, 0, 1])), "'sex' and 'Gender'")


def test_the_label_asked_for(tmp_path):
    path = one(tmp_path, frame(PCR=[0, 1, 1, 0], covid=[0, 1, 0, 1]))
    (cohort,) = read(path, target=("PCR",))
    assert cohort.targets == ("PCR",)
    assert cohort.patients["PCR"].tolist() == [0, 1, 1, 0]
    assert "covid" not in cohort.patients
    assert "not used: covid." in cohort.notes[0]
    assert read(path, target=("pcr",))[0].patients["pcr"].tolist() == [0, 1, 1, 0]
    refused(path, "no column 'CPR', named as target.*'PCR'", target=("CPR",))
    refused(path, "one label, but --target names PCR, covid", RecipeError, target=("PCR", "covid"))


def test_a_label_that_cannot_be_guessed(tmp_path):
    refused(one(tmp_path, frame(outcome=[0, 1, 0, 1])), "no column named like a label.*--target")
    refused(one(tmp_path, frame(label=[0, 1, 0, 1], y=[0, 1, 0, 1])), r"several columns.*\(label, y\).*--target")


def test_rows_without_a_label_are_left_out(tmp_path):
    (cohort,) = read(one(tmp_path, frame(covid=[0, None, 1, None])))
    assert cohort.patients["covid19_positive"].tolist() == [0, 1]
    assert cohort.patients["covid19_positive"].dtype == "int64"
    assert cohort.patients["heart_rate"].tolist() == [0, 2]
    assert cohort.dropped == {"presentations without a label": 2}
    assert cohort.kept["presentations"] == 2
    assert "2 row(s) of" in cohort.notes[-1]
    assert "data row 2" in cohort.notes[-1]


@pytest.mark.parametrize(("label", "count"), [([0, 1, 2, 0], 3), ([1, 1, 1, None], 1), ([None] * 4, 0)])
def test_a_label_of_other_than_two_values(tmp_path, label, count):
    refused(one(tmp_path, frame(covid=label)), rf"'covid' of .*oxford\.csv has {count} values; a label has two")


def test_text_among_the_measurements(tmp_path):
    table = frame(covid=[0, None, 1, 0]).astype({"egfr": object})
    table.loc[2, "egfr"] = ">90 secret"
    said = refused(one(tmp_path, table), r"'egfr' of .*oxford\.csv holds text in 1 row.s., first in data row 3")
    assert "secret" not in said
    dated = frame(covid=[0, 1, 1, 0], age=pd.date_range("1950-01-01", periods=4))
    refused(write(tmp_path, "two.parquet", dated), "'age' of .* holds text in 4 row.s., first in data row 1")


def test_numbers_stored_as_text_and_gaps(tmp_path):
    table = frame(covid=[0, 1, 1, 0])
    table["c_reactive_protein"] = ["1.5", None, " ", "20"]
    table["urea"] = [4.5, None, 5.5, 6.5]
    (cohort,) = read(write(tmp_path, "portsmouth.parquet", table))
    np.testing.assert_array_equal(cohort.patients["c_reactive_protein"], [1.5, np.nan, np.nan, 20])
    np.testing.assert_array_equal(cohort.patients["urea"], [4.5, np.nan, 5.5, 6.5])


def test_folders_and_files_without_a_site(tmp_path):
    refused(tmp_path, "no CSV or Parquet file and has none in it")
    (tmp_path / "notes.txt").write_text("a,b\n1,2\n")
    refused(tmp_path / "notes.txt", "no CSV or Parquet file")
    write(tmp_path, "oxford.csv", frame(covid=[0, 1, 0, 1]))
    write(tmp_path, "oxford.parquet", frame(covid=[0, 1, 0, 1]))
    refused(tmp_path, r"oxford\.csv and .*oxford\.parquet are both of site 'oxford'")
    (tmp_path / "oxford.parquet").write_bytes(b"PAR1")
    refused(tmp_path / "oxford.parquet", "not a readable Parquet file")


def test_what_the_file_made_us_assume_is_passed_on(tmp_path):
    path = one(tmp_path, frame(covid19_positive=[0, 1, 0, 1], Straße=[1, 2, 3, 4]))
    path.write_bytes(path.read_text("utf-8").encode("cp1252"))
    (cohort,) = read(path)
    assert "oxford.csv is not UTF-8" in cohort.notes[0]

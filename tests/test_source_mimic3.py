import numpy as np
import pandas as pd
import pytest

from attar.cohort.prepared import load, save
from attar.cohort.schema import Schema
from attar.cohort.series import Series
from attar.cohort.sources.mimic3 import read_mortality, read_phenotyping
from attar.cohort.sources.mimic3_channels import CHANNELS, PHENOTYPES
from attar.cohort.sources.options import Options
from attar.errors import DataError, RecipeError
from attar.prepare.series import fit_series
from attar.progress import Silent

SERIES = (
    "Hours,Capillary refill rate,Diastolic blood pressure,Fraction inspired oxygen,Glascow coma scale eye opening,"
    "Glascow coma scale motor response,Glascow coma scale total,Glascow coma scale verbal response,Glucose,Heart Rate,"
    "Height,Mean blood pressure,Oxygen saturation,Respiratory rate,Systolic blood pressure,Temperature,Weight,pH"
)
DIAGNOSES = (
    "Acute and unspecified renal failure,Acute cerebrovascular disease,Acute myocardial infarction,"
    "Cardiac dysrhythmias,Chronic kidney disease,Chronic obstructive pulmonary disease and bronchiectasis,"
    "Complications of surgical procedures or medical care,Conduction disorders,"
    "Congestive heart failure; nonhypertensive,Coronary atherosclerosis and other heart disease,"
    "Diabetes mellitus with complications,Diabetes mellitus without complication,Disorders of lipid metabolism,"
    "Essential hypertension,Fluid and electrolyte disorders,Gastrointestinal hemorrhage,"
    "Hypertension with complications and secondary hypertension,Other liver diseases,Other lower respiratory disease,"
    "Other upper respiratory disease,Pleurisy; pneumothorax; pulmonary collapse,"
    "Pneumonia (except that caused by tuberculosis or sexually transmitted disease),"
    "Respiratory failure; insufficiency; arrest (adult),Septicemia (except in labor),Shock"
)
INPUTS = """
Capillary refill rate-0.0
Capillary refill rate-1.0
Diastolic blood pressure
Fraction inspired oxygen
Glascow coma scale eye opening-2 To Pain
Glascow coma scale eye opening-3 To speech
Glascow coma scale eye opening-1 No Response
Glascow coma scale eye opening-4 Spontaneously
Glascow coma scale eye opening-0 None
Glascow coma scale motor response-1 No Movement
Glascow coma scale motor response-3 Abnormal flexion
Glascow coma scale motor response-2 Abnormal extension
Glascow coma scale motor response-4 Flex-withdraws
Glascow coma scale motor response-5 Localizes Pain
Glascow coma scale motor response-6 Obeys Commands
Glascow coma scale total-11
Glascow coma scale total-10
Glascow coma scale total-13
Glascow coma scale total-12
Glascow coma scale total-15
Glascow coma scale total-14
Glascow coma scale total-3
Glascow coma scale total-5
Glascow coma scale total-4
Glascow coma scale total-7
Glascow coma scale total-6
Glascow coma scale total-9
Glascow coma scale total-8
Glascow coma scale verbal response-1 No Response
Glascow coma scale verbal response-4 Confused
Glascow coma scale verbal response-2 Incomprehensible sounds
Glascow coma scale verbal response-3 Inappropriate Words
Glascow coma scale verbal response-5 Oriented
Glucose
Heart Rate
Height
Mean blood pressure
Oxygen saturation
Respiratory rate
Systolic blood pressure
Temperature
Weight
pH
mask-Capillary refill rate
mask-Diastolic blood pressure
mask-Fraction inspired oxygen
mask-Glascow coma scale eye opening
mask-Glascow coma scale motor response
mask-Glascow coma scale total
mask-Glascow coma scale verbal response
mask-Glucose
mask-Heart Rate
mask-Height
mask-Mean blood pressure
mask-Oxygen saturation
mask-Respiratory rate
mask-Systolic blood pressure
mask-Temperature
mask-Weight
mask-pH
"""
CAPILLARY, DIASTOLIC, EYES, MOTOR, TOTAL, VERBAL, HEART, HEIGHT, PH = 0, 1, 3, 4, 5, 6, 8, 9, 16
FIRST, SECOND, THIRD = (f"{stay}_timeseries.csv" for stay in ("10017_episode1", "10017_episode2", "22_episode1"))


def row(hour, cells):
    """One line of a series file: a time, and the cells that are not empty by channel."""
    return ",".join([str(hour), *(str(cells.get(channel, "")) for channel in range(17))])


def series(*rows, header=SERIES):
    return "\n".join([header, *rows]) + "\n"


def diagnoses(*positions):
    return ",".join("1" if place in positions else "0" for place in range(25))


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def mortality(folder, files=()):
    """Two episodes of one subject for training and a stay of another for testing; `files` replace or add some."""
    return write(
        folder,
        {
            "train/listfile.csv": f"stay,y_true\n{SECOND},1\n{FIRST},0\n",
            "test/listfile.csv": f"stay,y_true\n{THIRD},0\n",
            f"train/{FIRST}": series(row(0.25, {HEART: 80.0})),
            f"train/{SECOND}": series(row(0.5, {HEART: 90})),
            f"test/{THIRD}": series(row(1.5, {PH: 7.4})),
            **dict(files),
        },
    )


def phenotyping(folder, listed, files):
    header = f"stay,period_length,{DIAGNOSES}\n"
    lists = {"train/listfile.csv": header + listed, "test/listfile.csv": header}
    return write(folder, {**lists, **{f"train/{name}": text for name, text in files.items()}})


def read(folder, reader=read_mortality, **options):
    (prepared,) = reader(folder, Options(**options), Silent())
    return prepared


def test_the_60_inputs_are_the_papers():
    hours = max(len(channel.values) for channel in CHANNELS)
    every = [np.arange(hours) % (len(channel.values) or hours) for channel in CHANNELS]
    values = np.repeat(np.stack(every, axis=1)[None].astype(np.float32), 3, axis=0)
    prepared = fit_series(
        Series(values, CHANNELS), pd.DataFrame(index=range(3)), Schema(columns=(), targets=()), 5.0, False
    )
    assert list(prepared.hour_names) == INPUTS.strip().split("\n")
    assert len(prepared.hour_names) == 60


def test_channels_are_the_columns_of_a_file():
    assert [channel.name for channel in CHANNELS] == SERIES.split(",")[1:]
    assert ",".join(PHENOTYPES) == DIAGNOSES
    assert {channel.name for channel in CHANNELS if not channel.unit} == {
        "Capillary refill rate",
        "Glascow coma scale eye opening",
        "Glascow coma scale motor response",
        "Glascow coma scale total",
        "Glascow coma scale verbal response",
        "pH",
    }


def test_mortality_of_both_parts(tmp_path):
    prepared = read(mortality(tmp_path))
    assert prepared.patients.to_dict("list") == {
        "stay": ["10017_episode2", "10017_episode1", "22_episode1"],
        "subject": [10017, 10017, 22],
        "part": ["train", "train", "test"],
        "in_hospital_mortality": [1, 0, 0],
    }
    assert (prepared.id, prepared.groups, prepared.targets) == (
        "subject",
        ("stay", "part"),
        ("in_hospital_mortality",),
    )
    assert prepared.values.shape == (3, 48, 17)
    assert prepared.values.dtype == np.float32
    assert np.isfinite(prepared.values).sum() == 3
    assert prepared.values[0, 0, HEART] == 90
    assert prepared.values[1, 0, HEART] == 80
    assert prepared.values[2, 1, PH] == np.float32(7.4)
    assert prepared.kept == {"stays": 3, "patients": 2, "measurements": 3}
    assert prepared.dropped == {}
    assert prepared.notes == ()


@pytest.mark.parametrize(("only", "stays"), [(("train",), 2), (("test",), 1), (("test", "train"), 3)])
def test_only_some_parts(tmp_path, only, stays):
    prepared = read(mortality(tmp_path), only=only)
    assert len(prepared.patients) == len(prepared.values) == stays
    assert set(prepared.patients["part"]) == set(only)


def test_one_part_needs_no_other(tmp_path):
    folder = mortality(tmp_path)
    (folder / "test" / "listfile.csv").unlink()
    assert len(read(folder, only=("train",)).patients) == 2
    with pytest.raises(DataError, match=r"no file .*test.*listfile.csv.*--only"):
        read(folder)


def test_unknown_part(tmp_path):
    with pytest.raises(RecipeError, match=r"'tset'.*'test'"):
        read(mortality(tmp_path), only=("tset",))


def test_hours_of_a_stay(tmp_path):
    rows = [
        row(0.0, {HEART: 70.0, HEIGHT: 170}),
        row(0.5, {HEART: 71.0}),
        row(1.0, {HEART: 72.5, DIASTOLIC: "nan"}),
        row(1.0000005, {DIASTOLIC: 60}),
        row(1.01, {HEART: ""}),
        row(2.75, {HEART: 74.0, EYES: "NaN", CAPILLARY: ""}),
        row(47.999, {HEART: 75.0}),
        row(48.0, {HEART: 76.0}),
    ]
    values = read(mortality(tmp_path, {f"test/{THIRD}": series(*rows)}), only=("test",)).values[0]
    # An hour ends with its full hour, the last value in it counts, and nothing is filled in.
    expected = {(0, HEART): 72.5, (0, HEIGHT): 170, (0, DIASTOLIC): 60, (2, HEART): 74, (47, HEART): 76}
    assert {tuple(at): values[tuple(at)] for at in np.argwhere(np.isfinite(values)).tolist()} == expected


@pytest.mark.parametrize(
    ("channel", "category", "spellings"),
    [
        (CAPILLARY, "0.0", ["0.0", "0"]),
        (CAPILLARY, "1.0", ["1.0", "1"]),
        (EYES, "0 None", ["None"]),
        (EYES, "1 No Response", ["1 No Response"]),
        (EYES, "2 To Pain", ["To Pain", "2 To pain"]),
        (EYES, "3 To speech", ["3 To speech", "To Speech"]),
        (EYES, "4 Spontaneously", ["4 Spontaneously", "Spontaneously"]),
        (MOTOR, "1 No Movement", ["1 No Response", "No response"]),
        (MOTOR, "2 Abnormal extension", ["2 Abnorm extensn", "Abnormal extension"]),
        (MOTOR, "3 Abnormal flexion", ["3 Abnorm flexion", "Abnormal Flexion"]),
        (MOTOR, "4 Flex-withdraws", ["4 Flex-withdraws", "Flex-withdraws"]),
        (MOTOR, "5 Localizes Pain", ["5 Localizes Pain", "Localizes Pain"]),
        (MOTOR, "6 Obeys Commands", ["6 Obeys Commands", "Obeys Commands"]),
        (TOTAL, "3", ["3", "3.0"]),
        (TOTAL, "15", ["15", "15.0"]),
        (VERBAL, "1 No Response", ["1 No Response", "No Response", "No Response-ETT", "1.0 ET/Trach"]),
        (VERBAL, "2 Incomprehensible sounds", ["2 Incomp sounds", "Incomprehensible sounds"]),
        (VERBAL, "3 Inappropriate Words", ["3 Inapprop words", "Inappropriate Words"]),
        (VERBAL, "4 Confused", ["4 Confused", "Confused"]),
        (VERBAL, "5 Oriented", ["5 Oriented", "Oriented"]),
    ],
)
def test_every_spelling_of_a_category(tmp_path, channel, category, spellings):
    rows = [row(hour + 0.5, {channel: text}) for hour, text in enumerate(spellings)]
    values = read(mortality(tmp_path, {f"test/{THIRD}": series(*rows)}), only=("test",)).values
    position = CHANNELS[channel].values.index(category)
    assert values[0, : len(spellings), channel].tolist() == [position] * len(spellings)


def test_fewer_hours_of_mortality_but_not_more(tmp_path):
    rows = series(row(2.0, {HEART: 60}), row(2.5, {HEART: 61, PH: 7.1}))
    prepared = read(mortality(tmp_path, {f"test/{THIRD}": rows}), hours=2)
    assert prepared.values.shape == (3, 2, 17)
    assert prepared.values[2, 1, HEART] == 60
    assert prepared.dropped == {"measurements outside the first 2 hours": 2}
    assert prepared.notes == (f"Left out: measurements outside the first 2 hours (2), the first in test/{THIRD}.",)
    with pytest.raises(RecipeError, match="--hours 48"):
        read(tmp_path, hours=49)


def test_stays_without_measurements_are_left_out(tmp_path):
    empty = series(row(3.0, {HEART: "nan"}), row(4.0, {}))
    prepared = read(mortality(tmp_path, {f"train/{SECOND}": empty, f"test/{THIRD}": series()}))
    assert prepared.patients["stay"].tolist() == ["10017_episode1"]
    assert prepared.values.shape == (1, 48, 17)
    assert prepared.values[0, 0, HEART] == 80
    assert prepared.kept == {"stays": 1, "patients": 1, "measurements": 1}
    assert prepared.dropped == {"stays without any measurement in the first 48 hours": 2}
    (note,) = prepared.notes
    assert f"(2), the first in row 2 of train/listfile.csv: {SECOND}." in note


def test_of_equal_times_the_later_row_counts(tmp_path):
    rows = series(row(5.5, {HEART: 60}), row(5.5, {HEART: 61}))
    prepared = read(mortality(tmp_path, {f"test/{THIRD}": rows}))
    assert prepared.values[2, 5, HEART] == 61
    assert prepared.dropped == {"measurements that a later row of the same time repeats": 1}
    assert f"the first in test/{THIRD}" in prepared.notes[0]


def test_phenotyping_keeps_long_stays_and_their_first_hours(tmp_path):
    lines = [
        f"{FIRST},47.900000,{diagnoses(0)}",
        f"{SECOND},47.999999,{diagnoses(1, 8)}",
        f"{THIRD},120.500000,{diagnoses(24)}",
    ]
    files = {
        FIRST: series(row(1.0, {HEART: 80})),
        SECOND: series(row(10.5, {HEART: 90})),
        THIRD: series(row(20.5, {HEART: 100}), row(48.5, {HEART: 110}), row(120.0, {PH: 7.2})),
    }
    prepared = read(phenotyping(tmp_path, "\n".join(lines) + "\n", files), read_phenotyping)
    patients = prepared.patients
    assert list(patients) == ["stay", "subject", "part", *DIAGNOSES.split(",")]
    assert prepared.targets == tuple(DIAGNOSES.split(","))
    assert patients["subject"].tolist() == [10017, 22]
    assert patients.loc[0, list(prepared.targets)].sum() == 2
    assert patients["Acute cerebrovascular disease"].tolist() == [1, 0]
    assert patients["Congestive heart failure; nonhypertensive"].tolist() == [1, 0]
    assert patients["Shock"].tolist() == [0, 1]
    assert prepared.values.shape == (2, 48, 17)
    assert np.isfinite(prepared.values).sum() == 2
    assert prepared.values[0, 10, HEART] == 90
    assert prepared.values[1, 20, HEART] == 100
    assert prepared.dropped == {"stays shorter than 48 hours": 1, "measurements outside the first 48 hours": 2}
    assert prepared.notes[0] == (
        f"Left out: stays shorter than 48 hours (1), the first in row 2 of train/listfile.csv: {FIRST}."
    )


def test_phenotyping_with_other_hours(tmp_path):
    lines = f"{FIRST},24.000000,{diagnoses()}\n{SECOND},23.500000,{diagnoses()}\n"
    files = dict.fromkeys((FIRST, SECOND), series(row(1.0, {HEART: 80})))
    prepared = read(phenotyping(tmp_path, lines, files), read_phenotyping, hours=24)
    assert prepared.values.shape == (1, 24, 17)
    assert prepared.dropped == {"stays shorter than 24 hours": 1}


def test_a_prepared_cohort_is_written_and_read_back(tmp_path):
    prepared = read(mortality(tmp_path / "task"))
    save(prepared, tmp_path / "cohort")
    again = load(tmp_path / "cohort")
    assert again.patients.equals(prepared.patients)
    assert np.array_equal(again.values, prepared.values, equal_nan=True)
    assert (again.channels, again.groups, again.kept) == (prepared.channels, prepared.groups, prepared.kept)


def test_files_that_are_not_listed_do_not_matter(tmp_path):
    others = {"train/1_episode1_timeseries.csv": "nothing of the kind", "train_listfile.csv": "stay,y_true\nx,7\n"}
    assert len(read(mortality(tmp_path, others)).patients) == 3


def test_order_of_columns_line_ends_and_blank_lines(tmp_path):
    names = SERIES.split(",")
    turned = ",".join(["Hours", *reversed(names[1:])])
    text = f"\ufeff{turned}\r\n0.5,7.25{',' * 16}\r\n\r\n1.5{',' * 17}1.0\r\n"
    values = read(mortality(tmp_path, {f"test/{THIRD}": text}), only=("test",)).values[0]
    assert values[0, PH] == 7.25
    assert values[1, CAPILLARY] == 1
    assert np.isfinite(values).sum() == 2


class Noted(Silent):
    def __init__(self):
        self.told = []

    def stage(self, title, total, done=0):
        self.told.append((title, total))

    def update(self, done, note=""):
        self.told.append(done)


def test_progress_is_told(tmp_path):
    watch = Noted()
    read_mortality(mortality(tmp_path), Options(), watch)
    assert watch.told == [("reading", 3), 1, 2, 3]


def test_listed_stays_without_a_file_are_refused(tmp_path):
    names = [f"{subject}_episode1_timeseries.csv" for subject in range(5)]
    listed = "stay,y_true\n" + f"{FIRST},0\n" + "".join(f"{name},0\n" for name in names)
    folder = mortality(tmp_path, {"train/listfile.csv": listed})
    with pytest.raises(DataError, match=r"train.*listfile.csv, row 3: 5 of 6 listed stays have no file") as caught:
        read(folder)
    assert all(name in str(caught.value) for name in names[:3])
    assert names[3] not in str(caught.value)


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ("", "no column 'stay', 'y_true'"),
        (f"{FIRST},0\n", "no column 'stay', 'y_true'.*first line"),
        (f"stay,label\n{FIRST},0\n", "no column 'y_true'.*right task"),
        (f"stay,y_true,more\n{FIRST},0,secret\n", "more than the 2 columns"),
        (f"stay,y_true\n{FIRST},0\n{SECOND},secret\n", "row 3: the label 'y_true' is neither 0 nor 1"),
        (f"stay,y_true\n{FIRST},2\n", "row 2: the label 'y_true'"),
        (f"stay,y_true\n{FIRST},\n", "row 2: the label 'y_true'"),
        (f"stay,y_true\n{FIRST}\n", "row 2, has 1 fields, not the 2"),
        (f"stay,y_true\n{FIRST},0\n{SECOND},1\n{FIRST},0\n", f"row 4, .*row 2 of train/listfile.csv: {FIRST}"),
        (f"stay,y_true\n{FIRST},0\n{THIRD},0\n", f"test.*row 2, .*row 3 of train/listfile.csv: {THIRD}"),
        ("stay,y_true\n../test/22_episode1_timeseries.csv,0\n", "row 2: the stay is not named like"),
        (b"stay,y_true\n\xff\xfe,0\n", "cannot be read"),
    ],
)
def test_bad_listfiles(tmp_path, listed, said):
    folder = mortality(tmp_path, {"train/listfile.csv": listed, f"train/{THIRD}": series(row(1.0, {HEART: 80}))})
    with pytest.raises(DataError, match=said) as caught:
        read(folder)
    assert "listfile.csv" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"{FIRST},,{diagnoses()}", "row 2: period_length is not a number"),
        (f"{FIRST},nan,{diagnoses()}", "row 2: period_length is not a number"),
        (f"{FIRST},50.0,{diagnoses()[:-1]}?", "row 2: the label 'Shock' is neither 0 nor 1"),
        (f"{FIRST},50.0,0,1", "row 2, has 4 fields, not the 27"),
    ],
)
def test_bad_rows_of_phenotyping(tmp_path, line, said):
    with pytest.raises(DataError, match=said):
        read(phenotyping(tmp_path, line + "\n", {FIRST: series(row(1.0, {HEART: 80}))}), read_phenotyping)


def test_the_folder_of_the_other_task(tmp_path):
    with pytest.raises(DataError, match=r"no column 'period_length', 'Acute and.* and 21 more.*right task"):
        read(mortality(tmp_path), read_phenotyping)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no column 'Hours', 'Capillary refill rate'.* and 13 more"),
        (
            series(row(1.0, {}), header=SERIES.replace("Glascow", "Glasgow")),
            "no column 'Glascow coma scale eye opening'",
        ),
        (series(header=SERIES + ",Age"), "more than the 18 columns"),
        (series(row(1.0, {}) + ",secret"), "row 2, has 19 fields, not the 18"),
        (series(row(1.0, {}), row("secret", {PH: 7})), "row 3: Hours is not a number"),
        (series(row("", {PH: 7})), "row 2: Hours is not a number"),
        (series(row("nan", {PH: 7})), "row 2: Hours is not a number"),
        (series(row(2.0, {PH: 7}), row(1.0, {PH: 7})), "row 3: Hours is smaller.*Sort"),
        (series(row(1.0, {HEIGHT: "secret"})), "row 2: Height is not a number"),
        (series(row(1.0, {HEIGHT: "inf"})), "row 2: Height is not a number"),
        (series(row(1.0, {HEIGHT: "1e300"})), "row 2: Height is not a number"),
        (
            series(row(1.0, {EYES: "None"}), row(2.0, {EYES: "4 spontaneous"})),
            "row 3: '4 spontaneous' is no Glascow coma scale eye opening .*'4 Spontaneously'",
        ),
        (series(row(1.0, {TOTAL: "16"})), "row 2: '16' is no Glascow coma scale total"),
        (series(row(1.0, {CAPILLARY: "0.5"})), "row 2: '0.5' is no Capillary refill rate"),
        (SERIES.encode() + b"\n\xff\xfe", "cannot be read"),
    ],
)
def test_bad_series_files(tmp_path, text, said):
    with pytest.raises(DataError, match=said) as caught:
        read(mortality(tmp_path, {f"train/{FIRST}": text}))
    assert FIRST in str(caught.value)
    assert "secret" not in str(caught.value)


def test_no_stay_is_left(tmp_path):
    folder = phenotyping(tmp_path, f"{FIRST},12.0,{diagnoses()}\n", {FIRST: series(row(1.0, {HEART: 80}))})
    with pytest.raises(DataError, match=r"no stay with a measurement in the first 48 hours.*fewer --hours"):
        read(folder, read_phenotyping)

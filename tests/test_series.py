"""Series from arrays to a condensed set: the cohort, its preparation, a whole run, what is exported, other cohorts."""

import json

import numpy as np
import pandas as pd
import pytest

from attar import export, recipe
from attar.cohort import Channel, Cohort, Series, prepared
from attar.cohort.series import from_arrays
from attar.condenser import Condenser
from attar.errors import DataError, RecipeError
from attar.evaluate import external
from attar.legal import legal
from attar.prepare import prepare
from attar.prepare.series import Stays, forward
from attar.run import condense_cohort, evaluate_across, evaluate_external, load
from attar.store import Run

PATIENTS, HOURS = 240, 6
CHANNELS = (
    Channel(name="HR", kind="integer", unit="/min"),
    Channel(name="pH"),
    Channel(name="rhythm", kind="categorical", values=("sinus", "paced", "other")),
)
SETTINGS = {
    "per_class": 6,
    "model.hidden": 8,
    "teachers.count": 2,
    "teachers.epochs": 2,
    "teachers.longest": 3,
    "teachers.batch": 32,
    "student.steps": 3,
    "student.patients": 32,
    "inputs.iterations": 20,
    "stay.iterations": 10,
    "stay.steps": 4,
    "stay.least": 3,
    "stay.window": 2,
    "selection.initialisations": 2,
    "selection.epochs": 3,
    "evaluate.initialisations": 2,
    "evaluate.draws": 2,
    "evaluate.epochs": 3,
    "evaluate.full_epochs": 2,
}


def made_up(seed=0, patients=PATIENTS):
    """Patients whose heart beats faster before they die, most hours unmeasured."""
    rng = np.random.default_rng(seed)
    died = (np.arange(patients) % 4 == 0).astype(np.int64)
    values = np.stack(
        [
            np.rint(80 + 25 * died[:, None] + 10 * rng.standard_normal((patients, HOURS))),
            7.4 - 0.05 * died[:, None] + 0.05 * rng.standard_normal((patients, HOURS)),
            rng.integers(0, 3, (patients, HOURS)),
        ],
        axis=2,
    ).astype(np.float32)
    values[rng.random(values.shape) < 0.4] = np.nan
    frame = pd.DataFrame({"age": rng.integers(20, 90, patients), "ward": rng.choice(["a", "b"], patients)})
    return frame.assign(died=died, patient=np.arange(patients)), Series(values, CHANNELS)


@pytest.fixture(scope="module")
def cohort():
    frame, series = made_up()
    return Cohort.of(frame, "died", id="patient", series=series, name="made-up")


@pytest.fixture(scope="module")
def finished(cohort, tmp_path_factory):
    folder = tmp_path_factory.mktemp("series") / "run"
    condense_cohort(cohort, recipe.load("series", {**SETTINGS, "method": "line"}), folder)
    return folder


def test_a_cohort_of_series_says_what_it_is(cohort):
    assert repr(cohort) == "Cohort('made-up', 240 rows, 2 features, 3 channels x 6 hours, died 25.0%)"
    assert cohort.recipe == "series"
    assert cohort.schema.hours == 6
    assert [channel.name for channel in cohort.schema.channels] == ["HR", "pH", "rhythm"]


def test_the_fingerprint_sees_a_single_value(cohort):
    frame, series = made_up()
    same = Cohort.of(frame, "died", id="patient", series=series)
    assert same.fingerprint == cohort.fingerprint
    values = series.values.copy()
    values[7, 3, 1] = 7.0
    other = Cohort.of(frame, "died", id="patient", series=Series(values, CHANNELS))
    assert other.fingerprint != cohort.fingerprint


def test_equal_stays_are_kept_together(cohort):
    frame, series = made_up()
    frame.loc[1, ["age", "ward", "died"]] = frame.loc[2, ["age", "ward", "died"]].to_numpy()
    values = series.values.copy()
    values[1] = values[2]
    twins = Cohort.of(frame, "died", series=Series(values, CHANNELS), drop=["patient"])
    assert twins.blocks[1] == twins.blocks[2]
    values[1, 0, 0] = 30
    apart = Cohort.of(frame, "died", series=Series(values, CHANNELS), drop=["patient"])
    assert apart.blocks[1] != apart.blocks[2]


def test_rows_without_an_outcome_take_their_series_with_them():
    frame, series = made_up()
    frame["died"] = frame["died"].astype(float)
    frame.loc[0, "died"] = np.nan
    cohort = Cohort.of(frame, "died", series=series, drop=["patient"])
    np.testing.assert_array_equal(cohort.series.values, series.values[1:])


def test_series_need_no_other_column():
    frame, series = made_up()
    cohort = Cohort.of(frame[["died"]], "died", series=series, drop=["pH"])
    assert cohort.series.names == ("HR", "rhythm")
    data = prepare(cohort, cohort.split(0))
    assert data.preparation.layout == (6, 1 + 3 + 2, 0)
    assert data.x_train.shape[1] == 36


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda v: v[:-1], "240 patients"),
        (lambda v: np.where(v == v[0, 0, 1], np.inf, v), "infinite"),
        (lambda v: np.concatenate([v[..., :2], v[..., 2:] + 1], axis=2), "'rhythm' is categorical with 3"),
    ],
)
def test_series_that_cannot_be_are_refused(change, words):
    frame, series = made_up()
    series.values[0, 0, 1] = 7.123
    with pytest.raises(DataError, match=words):
        Cohort.of(frame, "died", series=Series(change(series.values).astype(np.float32), CHANNELS))


def test_a_dropped_name_that_is_nothing_is_refused():
    frame, series = made_up()
    with pytest.raises(DataError, match=r"neither a column nor a channel.*'pH'"):
        Cohort.of(frame, "died", series=series, drop=["PH"])


def test_a_channel_never_measured_is_left_out_with_a_word():
    frame, series = made_up()
    values = series.values.copy()
    values[:, :, 1] = np.nan
    cohort = Cohort.of(frame, "died", series=Series(values, CHANNELS))
    assert cohort.series.names == ("HR", "rhythm")
    assert any("'pH' was never measured" in warning for warning in cohort.warnings)


def test_gaps_are_filled_forward_then_with_the_training_median(cohort):
    np.testing.assert_array_equal(
        forward(np.array([[[np.nan], [2.0], [np.nan], [5.0], [np.nan]]], np.float32))[0, :, 0],
        np.array([np.nan, 2, 2, 5, 5], np.float32),
    )
    split = cohort.split(0)
    data = prepare(cohort, split)
    fitted = data.preparation
    observed = cohort.series.values[split.train][:, :, 1]
    observed = observed[~np.isnan(observed)]
    row = np.full((1, HOURS, 3), np.nan, np.float32)
    row[0, 2, 1] = 7.0
    x = fitted.transform(Stays(row, cohort.frame.iloc[:1]))[0, : HOURS * fitted.layout.channels].reshape(HOURS, -1)
    ph = np.clip((np.array([np.median(observed)] * 2 + [7.0] * 4) - observed.mean()) / observed.std(), -5, 5)
    np.testing.assert_allclose(x[:, 1], ph, rtol=1e-4, atol=1e-4)
    assert fitted.hour_names[-3:] == ("mask-HR", "mask-pH", "mask-rhythm")
    np.testing.assert_array_equal(x[:, -3:], np.eye(6)[2][:, None] * [0, 1, 0])


def test_there_and_back_is_the_same_and_legal(cohort):
    data = prepare(cohort, cohort.split(0))
    fitted, x = data.preparation, data.x_train
    np.testing.assert_allclose(fitted.transform(fitted.inverse(x)), x, atol=1e-4)
    rules = legal(fitted)
    np.testing.assert_allclose(rules.nearest(x), x, atol=1e-4)
    free = x + np.random.default_rng(0).normal(0, 2, x.shape).astype(np.float32)
    near = np.asarray(rules.nearest(free))
    np.testing.assert_allclose(fitted.transform(fitted.inverse(near)), near, atol=1e-4)
    stays = fitted.inverse(near)
    assert set(np.unique(stays.observed)) == {0.0, 1.0}
    assert (stays.values[:, :, 0] == np.rint(stays.values[:, :, 0])).all()
    assert set(np.unique(stays.values[:, :, 2])) <= {0.0, 1.0, 2.0}


def test_a_run_exports_patients_in_units_that_train_as_the_arrays_do(cohort, finished):
    run, condensed = Run(finished), load(finished)
    assert {"condensed", "condensed_raw", "full", "random"} == set(condensed.scores["arms"])
    moved = np.abs(condensed.x - prepare(cohort, cohort.split(0)).x_train[condensed.source])
    assert run.manifest()["guards"]["skipped"] < 20
    assert moved.max() > 0.01
    table = run.read_table("condensed.parquet")
    assert list(table) == ["patient", "hour", "channel", "value", "observed", "probability", "category"]
    assert len(table) == 12 * HOURS * 3
    assert set(table["category"].dropna()) <= {"sinus", "paced", "other"}
    assert (table["category"].notna() == (table["channel"] == "rhythm")).all()
    seen = cohort.series.values[:, :, 0]
    assert table.loc[table["channel"] == "HR", "value"].between(np.nanmin(seen), np.nanmax(seen)).all()
    assert list(condensed.patients()) == ["age", "ward", "died"]
    x, y = export.read(run, condensed.preparation, condensed.targets)
    np.testing.assert_allclose(x, condensed.x, atol=1e-4)
    np.testing.assert_array_equal(y, condensed.y)
    arrays = np.load(finished / "condensed.npz", allow_pickle=False)
    assert arrays["values"].shape == (12, HOURS, 3)
    assert arrays["channels"].tolist() == ["HR", "pH", "rhythm"]
    np.testing.assert_array_equal(arrays["observed"], np.rint(arrays["probability"]))
    text = pd.read_csv(finished / "condensed.csv")
    np.testing.assert_allclose(text["value"], table["value"], rtol=1e-5)


def test_masks_are_exported_as_probabilities_and_as_0_or_1(cohort):
    data = prepare(cohort, cohort.split(0))
    fitted, x = data.preparation, data.x_train[:2].copy()
    masks = x[:, : HOURS * fitted.layout.channels].reshape(2, HOURS, -1)[:, :, -3:]
    masks[:] = np.array([-0.2, 0.3, 0.8])
    table = export.as_tables(fitted, cohort.schema.targets, x, data.y_train[:2])["condensed"]
    assert table["probability"].to_numpy() == pytest.approx(np.tile([0.0, 0.3, 0.8], 2 * HOURS))
    np.testing.assert_array_equal(table["observed"], np.tile([0, 0, 1], 2 * HOURS))


def test_other_models_are_tried_on_series(cohort, finished):
    found = evaluate_across(cohort, finished, ["logistic"])
    assert found["models"]["logistic"]["full"]["auroc"]["mean"] > 0.8
    assert (finished / "models.png").stat().st_size > 1000


def test_a_network_for_series_is_refused_for_a_table(small_cohort, tmp_path):
    with pytest.raises(RecipeError, match="'tcn' is for hourly series"):
        condense_cohort(small_cohort, recipe.load("default", {"model.name": "tcn"}), tmp_path / "run")


def test_another_hospital_is_matched_by_name(cohort, finished, tmp_path):
    frame, series = made_up(seed=1, patients=120)
    renamed = Channel(name="rhythm", kind="categorical", values=("other", "flutter", "sinus"))
    there = prepared.Prepared(
        name="elsewhere",
        patients=frame.drop(columns="ward").assign(height=1.7),
        targets=("died",),
        id="patient",
        values=series.values[:, :, [0, 2]],
        channels=(CHANNELS[0], renamed),
    )
    prepared.save(there, tmp_path / "elsewhere")
    found = evaluate_external(cohort, finished, tmp_path / "elsewhere")
    assert found["rows"] == 120
    assert found["differences"] == {
        "columns it lacks, taken as missing": ["ward"],
        "columns not used": ["height"],
        "channels it lacks, taken as not measured": ["pH"],
        "categories of rhythm the run has not seen, taken as not measured": ["flutter"],
    }
    assert set(found["arms"]) == {"full", "random", "condensed"}
    assert json.loads((finished / "external-elsewhere.json").read_text()) == found
    prepared.save(there, tmp_path / "away" / "elsewhere")
    assert evaluate_external(cohort, finished, tmp_path / "away" / "elsewhere")["external"] == "elsewhere-2"
    assert json.loads((finished / "external-elsewhere.json").read_text()) == found
    preparation = load(finished).preparation
    other = external.read(tmp_path / "elsewhere", cohort.schema, preparation)
    hour = other.x[:, : preparation.layout.channels]
    sinus = preparation.hour_names.index("rhythm-sinus")
    assert len(np.unique(hour[:, sinus])) == 2
    numbers = (CHANNELS[0], Channel(name="rhythm", kind="integer"))
    odd = prepared.Prepared("odd", frame, ("died",), values=series.values[:, :, [0, 2]], channels=numbers, id="patient")
    prepared.save(odd, tmp_path / "odd")
    with pytest.raises(DataError, match="'rhythm' is integer there and categorical in the run"):
        external.read(tmp_path / "odd", cohort.schema, preparation)
    short = prepared.Prepared("short", frame, ("died",), values=series.values[:, :3], channels=CHANNELS, id="patient")
    prepared.save(short, tmp_path / "short")
    with pytest.raises(DataError, match="hours long"):
        external.read(tmp_path / "short", cohort.schema, preparation)


def test_another_table_is_matched_by_name(small_cohort, small_frame, tmp_path):
    fitted = prepare(small_cohort, small_cohort.split(0)).preparation
    small_frame.drop(columns="age").assign(extra=1).to_parquet(tmp_path / "other.parquet")
    other = external.read(tmp_path / "other.parquet", small_cohort.schema, fitted)
    assert other.differences["columns it lacks, taken as missing"] == ["age"]
    assert "extra" in other.differences["columns not used"]
    assert other.x.shape == (1000, fitted.width)
    np.testing.assert_array_equal(other.y, small_cohort.labels)
    small_frame.assign(hospdead=small_frame["hospdead"] * 3).to_parquet(tmp_path / "odd.parquet")
    with pytest.raises(DataError, match="values beside 0 and 1, first in row"):
        external.read(tmp_path / "odd.parquet", small_cohort.schema, fitted)
    coded = small_frame.assign(
        race=small_frame["race"].astype("str").str.upper(),
        hospdead=small_frame["hospdead"].astype("Int64").where(np.arange(1000) > 2),
    )
    coded.to_parquet(tmp_path / "coded.parquet")
    differences = external.read(tmp_path / "coded.parquet", small_cohort.schema, fitted).differences
    assert differences["rows left out"] == ["3 of 1000 lack an outcome"]
    known = small_frame["race"].notna().sum()
    assert differences["columns with values the run does not know, taken as missing"] == [
        f"race ({known} of 1000 rows)"
    ]
    small_frame.drop(columns="hospdead").to_parquet(tmp_path / "none.parquet")
    with pytest.raises(DataError, match="no column 'hospdead'"):
        external.read(tmp_path / "none.parquet", small_cohort.schema, fitted)


def test_a_prepared_folder_is_read_as_it_was_saved(tmp_path):
    frame, series = made_up()
    whole = prepared.Prepared("mine", frame, ("died",), "patient", ("ward",), series.values, CHANNELS)
    prepared.save(whole, tmp_path / "mine")
    cohort = Cohort.read(tmp_path / "mine")
    np.testing.assert_array_equal(cohort.series.values, series.values)
    assert (cohort.schema.id, cohort.schema.groups) == ("patient", ("ward",))
    assert [column.name for column in cohort.schema.columns] == ["age"]
    (tmp_path / "mine" / "values.safetensors").unlink()
    with pytest.raises(DataError, match=r"lacks values\.safetensors. Run attar prepare again"):
        Cohort.read(tmp_path / "mine")
    (tmp_path / "mine" / "cohort.json").write_text("{")
    with pytest.raises(DataError, match="damaged"):
        Cohort.read(tmp_path / "mine")
    with pytest.raises(DataError, match="without a prepared cohort"):
        Cohort.read(tmp_path)


def test_arrays_are_series_too():
    _, series = made_up()
    named = from_arrays(series.values[:, :, :2], ["HR", "pH"])
    assert [channel.kind for channel in named.channels] == ["integer", "numeric"]
    frame, _ = made_up()
    cohort = Cohort.from_arrays(series.values, frame["died"])
    assert cohort.series.names == ("c0", "c1", "c2")
    with pytest.raises(DataError, match="2 channels are named"):
        from_arrays(series.values, ["a", "b"])


def test_the_estimator_takes_an_array_of_series():
    frame, series = made_up()
    settings = {**SETTINGS, "model.name": "mlp"}
    fitted = Condenser(method="random", settings=settings).fit(series.values[:, :, :2], frame["died"])
    assert len(fitted.condensed_.patients()) == 12
    assert fitted.condensed_.frame()["channel"].unique().tolist() == ["c0", "c1"]

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attar.cohort import Cohort
from attar.errors import DataError
from attar.prepare import Preparation, fit, prepare


@pytest.fixture(scope="module")
def support2():
    return Cohort.read("support2")


@pytest.fixture(scope="module")
def preparations(support2):
    return {indicators: fitted(support2, indicators=indicators) for indicators in (False, True)}


def cohort_of(rows=400, seed=0, **columns):
    rng = np.random.default_rng(seed)
    return Cohort.of(pd.DataFrame({**columns, "died": rng.integers(0, 2, rows)}), "died")


def fitted(cohort, **options):
    return fit(cohort.frame, cohort.schema, **options)


@pytest.mark.parametrize("indicators", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_real_rows_survive_the_round_trip(support2, indicators, seed):
    split = support2.split(seed)
    arrays = prepare(support2, split, indicators=indicators)
    preparation = arrays.preparation
    assert arrays.x_train.dtype == arrays.y_test.dtype == np.float32
    assert arrays.x_test.shape == (len(split.test), preparation.width)
    back = preparation.inverse(arrays.x_train)
    assert np.abs(preparation.transform(back) - arrays.x_train).max() < 1e-4
    frame = support2.frame.iloc[split.train].reset_index(drop=True)
    assert (back.dtypes == frame.dtypes).all()
    assert list(back) == list(frame)
    low, high = preparation.bounds()
    assert (arrays.x_train >= low - 1e-6).all()
    assert (arrays.x_train <= high + 1e-6).all()
    clipped = np.zeros(frame.shape, dtype=bool)
    for at, feature in enumerate(preparation.features):
        here = preparation.names.index(feature.column) if feature.kind != "categorical" else None
        clipped[:, at] = False if here is None else np.abs(arrays.x_train[:, here]) >= 5
    intact = ~clipped & (True if indicators else frame.notna().to_numpy())
    assert intact.mean() > 0.8
    for at, name in enumerate(frame):
        rows = intact[:, at]
        if preparation.features[at].kind == "numeric":
            near = 1e-6 * preparation.features[at].scale[0]
            np.testing.assert_allclose(back[name][rows], frame[name][rows], rtol=0, atol=near)
        else:
            assert back[name][rows].equals(frame[name][rows])


def test_arrays_are_standardised_on_the_training_rows(support2):
    arrays = prepare(support2, support2.split(0), clip=1e6)
    numeric = [i for i, name in enumerate(arrays.preparation.names) if name in ("age", "temp", "urine")]
    assert np.abs(arrays.x_train.mean(axis=0)).max() < 1e-4
    assert arrays.x_train.std(axis=0)[numeric] == pytest.approx(1, abs=1e-4)
    assert np.abs(arrays.x_test.mean(axis=0)).max() > 1e-3
    assert np.abs(prepare(support2, support2.split(0)).x_test).max() == 5


def test_json_round_trip(support2):
    preparation = fitted(support2, indicators=True)
    again = Preparation.model_validate_json(preparation.model_dump_json())
    assert again == preparation
    assert (again.transform(support2.frame) == preparation.transform(support2.frame)).all()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31), spread=st.floats(0.1, 50), indicators=st.booleans())
def test_inverse_of_anything_is_a_possible_patient(support2, preparations, seed, spread, indicators):
    preparation = preparations[indicators]
    x = np.random.default_rng(seed).normal(0, spread, (30, preparation.width))
    back = preparation.inverse(x)
    assert (back.dtypes == support2.frame.dtypes).all()
    for feature in preparation.features:
        found, known = back[feature.column].dropna(), support2.frame[feature.column].dropna()
        if feature.kind in ("binary", "categorical"):
            assert set(found) <= set(known.unique())
        else:
            assert found.between(known.min(), known.max()).all()
        if feature.kind == "integer":
            assert (found == found.round()).all()
    again = preparation.transform(back)
    assert np.abs(preparation.transform(preparation.inverse(again)) - again).max() < 1e-4


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**31), scale=st.floats(1e-2, 1e4), gaps=st.floats(0, 0.6), indicators=st.booleans())
def test_round_trip_of_random_tables(seed, scale, gaps, indicators):
    rng = np.random.default_rng(seed)
    columns = {
        "number": rng.normal(rng.normal(0, 10 * scale), scale, 200),
        "heavy": np.exp(rng.normal(0, 2, 200)),
        "whole": np.floor(np.exp(rng.normal(2, 1.5, 200))),
        "two": rng.choice([3.0, 8.0], 200, p=[0.97, 0.03]),
        "word": rng.choice(["a", "b", "c d", "é"], 200, p=[0.5, 0.4, 0.09, 0.01]),
        "whole2": rng.integers(-500, 500, 200),
    }
    frame = pd.DataFrame(columns)
    frame = frame.mask((rng.random(frame.shape) < gaps) & (frame.columns != "whole2"))
    frame.iloc[:2] = pd.DataFrame(columns).iloc[:2]
    frame["two"] = frame["two"].where(frame.index > 1, pd.Series([3.0, 8.0]))
    frame["word"] = frame["word"].where(frame.index > 1, pd.Series(["a", "b"]))
    cohort = Cohort.of(frame.assign(died=rng.permutation(200) % 2), "died", kinds={"word": "categorical"})
    preparation = fitted(cohort, indicators=indicators)
    x = preparation.transform(cohort.frame)
    back = preparation.inverse(x)
    assert (back.dtypes == cohort.frame.dtypes).all()
    assert np.abs(preparation.transform(back) - x).max() < 1e-4
    if indicators:
        assert (back.isna() == cohort.frame.isna()).all(axis=None)
    else:
        assert back.notna().all(axis=None)


DTYPES = {
    "str": pd.Series(["a", "b", "c", None] * 100, dtype="str"),
    "string": pd.Series(["a", "b", "c", None] * 100, dtype="string"),
    "text pair": pd.Series(["no", "Yes"] * 200, dtype="str"),
    "category": pd.Series(["low", "high", "mid", None] * 100, dtype=pd.CategoricalDtype(["low", "mid", "high", "top"])),
    "ordered": pd.Series(["low", "high"] * 200, dtype=pd.CategoricalDtype(["low", "mid", "high"], ordered=True)),
    "numbers as category": pd.Series([3, 1, 2, None] * 100, dtype="category"),
    "bool": pd.Series([True, False] * 200),
    "boolean": pd.Series([True, False, None, True] * 100, dtype="boolean"),
    "Int64": pd.Series([1, 5, None, 9] * 100, dtype="Int64"),
    "Int64 pair": pd.Series([1, 5, None, 5] * 100, dtype="Int64"),
    "Float64": pd.Series([1.5, None, 2.5, 9.0] * 100, dtype="Float64"),
    "Float32": pd.Series([1.1, None, 2.2, 9.3] * 100, dtype="Float32"),
    "int8": pd.Series([-100, 4, 5, 100] * 100, dtype="int8"),
    "uint16": pd.Series([0, 4, 5, 60_000] * 100, dtype="uint16"),
    "int64 pair": pd.Series([4, 2] * 200),
    "float32": pd.Series([0.1, 0.2, 0.7, np.nan] * 100, dtype="float32"),
    "float32 pair": pd.Series([0.1, 0.2] * 200, dtype="float32"),
    "whole float": pd.Series([1.0, 2.0, 4.0, np.nan] * 100),
}


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("indicators", [False, True])
def test_dtypes_survive_to_parquet(tmp_path, name, indicators):
    series = DTYPES[name]
    cohort = cohort_of(x=series, other=np.random.default_rng(1).normal(size=400))
    preparation = fitted(cohort, indicators=indicators)
    x = preparation.transform(cohort.frame)
    back = preparation.inverse(x)
    back.to_parquet(tmp_path / "t.parquet")
    read = pd.read_parquet(tmp_path / "t.parquet")
    # Parquet itself turns a category of numbers into numbers.
    cohort.frame[["x"]].to_parquet(tmp_path / "original.parquet")
    original = pd.read_parquet(tmp_path / "original.parquet")["x"]
    present = series.notna() | indicators
    pd.testing.assert_series_equal(back["x"][present], series[present].rename("x"), rtol=1e-6)
    same = name != "numbers as category"
    pd.testing.assert_series_equal(read["x"][present], original[present], rtol=1e-6, check_dtype=same)
    assert back["x"].isna().any() == read["x"].isna().any() == (indicators and series.isna().any())
    np.testing.assert_allclose(preparation.transform(read), x, atol=1e-4)


def test_tables_read_back_from_csv_give_the_same_arrays(tmp_path):
    cohort = cohort_of(**{name: series for name, series in DTYPES.items() if name != "numbers as category"})
    preparation = fitted(cohort, indicators=True)
    x = preparation.transform(cohort.frame)
    preparation.inverse(x).to_csv(tmp_path / "t.csv", index=False)
    np.testing.assert_allclose(preparation.transform(pd.read_csv(tmp_path / "t.csv")), x, atol=1e-4)


def test_names_and_width():
    cohort = cohort_of(age=np.arange(400) % 7 + 0.5, race=["x", "y", "z", None] * 100, sex=["f", "m"] * 200)
    preparation = fitted(cohort, indicators=True)
    assert preparation.names == ("age", "race=x", "race=y", "race=z", "sex", "race missing")
    assert preparation.width == 6
    assert fitted(cohort).names == ("age", "race=x", "race=y", "race=z", "sex")


def test_gaps_are_filled_with_the_middle():
    cohort = cohort_of(
        a=[1.0, 2.5, 9.5, np.nan] * 100,
        whole=[1.0, 2.0, 3.0, 90.0, np.nan] * 80,
        word=["x", "y", "x", "z", None] * 80,
        two=[1, 0, 1, None, None] * 80,
    )
    preparation = fitted(cohort)
    assert [feature.median for feature in preparation.features] == [2.5, 2.0, "x", 1.0]
    filled = preparation.inverse(preparation.transform(cohort.frame))
    assert filled.iloc[4 * 4 + 3]["a"] == pytest.approx(2.5)
    assert filled.iloc[4][["whole", "word", "two"]].tolist() == [2.0, "x", 1.0]


def test_unseen_categories_count_as_missing():
    cohort = cohort_of(word=["x", "y", "x", "z"] * 100, two=["f", "m", "f", "f"] * 100)
    train = cohort.frame[cohort.frame["word"] != "z"]
    preparation = fit(train, cohort.schema)
    assert preparation.features[0].values == ("x", "y")
    odd = pd.DataFrame({"word": ["z", "new", None], "two": ["other", None, "f"]})
    usual = preparation.transform(pd.DataFrame({"word": ["x"] * 3, "two": ["f"] * 3}))
    assert (preparation.transform(odd) == usual).all()


def ward_sizes(*sizes):
    return np.repeat([f"w{at:02d}" for at in range(len(sizes))], sizes)


def test_rare_ones_of_many_categories_count_as_missing():
    ward = ward_sizes(*[40] * 22, 41, 20, 19, 3)
    preparation = fitted(cohort_of(len(ward), ward=ward))
    assert preparation.features[0].values == tuple(f"w{at:02d}" for at in range(24))
    x = preparation.transform(pd.DataFrame({"ward": ["w22", "w24", "w25", None]}))
    assert (x == x[0]).all()
    anything = np.random.default_rng(0).normal(0, 5, (2000, preparation.width))
    assert set(preparation.inverse(anything)["ward"]) == set(preparation.features[0].values)


@pytest.mark.parametrize(("count", "weight"), [(3, 3), (8, 8), (9, 8), (120, 8)])
def test_categories_together_weigh_as_much_as_eight_numbers_at_most(count, weight):
    ward = np.tile(ward_sizes(*[1] * count), 200)
    x = fitted(cohort_of(len(ward), ward=ward), clip=100.0).transform(pd.DataFrame({"ward": ward}))
    assert x.astype(np.float64).var(axis=0).sum() == pytest.approx(weight, rel=1e-4)


def test_twenty_categories_are_kept_however_rare():
    ward = ward_sizes(*[100] * 10, *[2] * 10)
    assert len(fitted(cohort_of(len(ward), ward=ward)).features[0].values) == 20
    ward = ward_sizes(*[100] * 10, *[2] * 30)
    assert len(fitted(cohort_of(len(ward), ward=ward)).features[0].values) == 20


def test_rare_is_one_in_a_thousand_of_a_large_table():
    ward = ward_sizes(*[1000] * 25, 30, 20)
    assert fitted(cohort_of(len(ward), ward=ward)).features[0].values[-1] == "w25"


def test_a_rare_category_is_no_gap_in_a_column_without_gaps():
    numbers = np.repeat(np.arange(30), [50] * 25 + [4] * 5)
    frame = pd.DataFrame({"ward": numbers, "died": np.arange(len(numbers)) % 2})
    cohort = Cohort.of(frame, "died", kinds={"ward": "categorical"})
    preparation = fitted(cohort, indicators=True)
    assert preparation.features[0].indicator is None
    assert preparation.inverse(preparation.transform(cohort.frame))["ward"].dtype == np.int64


def test_the_clip_never_bites_on_binary_columns():
    rare = np.zeros(1000)
    rare[:2] = 1
    cohort = cohort_of(1000, rare=rare, word=np.where(rare == 1, "b", np.where(np.arange(1000) % 2, "a", "c")))
    preparation = fitted(cohort)
    x = preparation.transform(cohort.frame)
    assert np.abs(x).max() == pytest.approx(5, abs=1e-5)
    assert preparation.features[0].scale[0] == pytest.approx(0.998 / 5)
    assert preparation.inverse(x).equals(cohort.frame)


def test_columns_constant_in_training_have_scale_one():
    cohort = cohort_of(x=np.arange(400) % 4 + 0.1, flag=np.arange(400) % 2, other=np.arange(400) % 9)
    train = cohort.frame[(cohort.frame["x"] == 0.1) & (cohort.frame["flag"] == 0)]
    preparation = fit(train, cohort.schema)
    assert [feature.scale[0] for feature in preparation.features[:2]] == [1.0, 1.0]
    assert (preparation.transform(train)[:, :2] == 0).all()
    back = preparation.inverse(np.full((1, 3), 4.0))
    assert back["x"][0] == 0.1
    assert back["flag"][0] == 0


def test_clipped_values_stay_clipped():
    values = np.r_[np.arange(399) % 10, 10_000]
    cohort = cohort_of(whole=values, number=values + 0.5)
    preparation = fitted(cohort)
    x = preparation.transform(cohort.frame)
    assert (x[-1] == 5).all()
    back = preparation.inverse(x)
    assert 10 < back["whole"].iloc[-1] < 10_000
    assert (preparation.transform(back)[-1] == 5).all()
    assert back["whole"][:-1].equals(cohort.frame["whole"][:-1])


def test_what_cannot_be_prepared_is_refused():
    cohort = cohort_of(x=np.arange(400) + 0.5, gap=[1.5, 2.5, np.nan, np.nan] * 100)
    with pytest.raises(DataError, match=r"'gap' has no value in the training rows.*--drop"):
        fit(cohort.frame[cohort.frame["gap"].isna()], cohort.schema)
    preparation = fitted(cohort)
    with pytest.raises(DataError, match="no column 'gap'"):
        preparation.transform(cohort.frame[["x"]])
    with pytest.raises(DataError, match="'x' is numeric but holds str"):
        preparation.transform(cohort.frame.assign(x="a"))
    for bad in (np.zeros((2, 3)), np.zeros(2), np.full((1, 2), np.nan)):
        with pytest.raises(ValueError, match="finite values of shape"):
            preparation.inverse(bad)


def test_frames_are_not_modified(support2):
    before = support2.frame.copy(deep=True)
    arrays = prepare(support2, support2.split(0), indicators=True)
    arrays.preparation.inverse(arrays.x_train)
    pd.testing.assert_frame_equal(support2.frame, before)

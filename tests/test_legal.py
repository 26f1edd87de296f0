import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attar import legal, prepare
from attar.cohort import Cohort


def cohorts(small_frame):
    numbers = pd.DataFrame(
        {
            "count": np.tile([0, 1, 2, 3, 50], 40),
            "flag": np.tile([0.0, 1.0, np.nan, 0.0], 50),
            "rare": [1] + [0] * 199,
            "level": np.linspace(-1, 1, 200).astype(np.float32),
            "died": np.tile(["yes", "no"], 100),
        }
    )
    return Cohort.of(small_frame, "hospdead"), Cohort.of(numbers, "died")


@pytest.mark.parametrize("indicators", [False, True])
def test_nearest_is_what_export_and_reading_back_make_of_it(small_frame, rng, indicators):
    for cohort in cohorts(small_frame):
        fitted = prepare.fit(cohort.frame, cohort.schema, indicators=indicators)
        rules = legal.legal(fitted)
        x = (2 * rng.normal(size=(300, fitted.width))).astype(np.float32)
        nearest = np.asarray(rules.nearest(x))
        np.testing.assert_allclose(fitted.transform(fitted.inverse(nearest)), nearest, atol=1e-4)
        np.testing.assert_allclose(fitted.transform(fitted.inverse(x)), nearest, atol=1e-4)
        np.testing.assert_allclose(rules.nearest(nearest), nearest, atol=1e-5)
        assert indicators == bool(rules.gaps)


def test_real_rows_are_legal_already(small_frame):
    far = pd.DataFrame({"code": 900_000_000 + np.arange(200) % 90, "died": np.tile(["yes", "no"], 100)})
    for cohort in (*cohorts(small_frame), Cohort.of(far, "died")):
        fitted = prepare.fit(cohort.frame, cohort.schema, indicators=True)
        x = fitted.transform(cohort.frame)
        np.testing.assert_allclose(legal.legal(fitted).nearest(x), x, atol=1e-4)


@settings(deadline=None)
@given(x=arrays(np.float32, (5, 40), elements=st.floats(-3, 3, width=32)), values=st.integers(2, 40))
def test_shares_are_the_nearest_that_sum_to_one(x, values):
    x = x[:, :values]
    falling = -np.sort(-x.astype(np.float64), axis=1)
    least = (np.cumsum(falling, axis=1) - 1) / np.arange(1, values + 1)
    least = least[np.arange(5), (falling > least).sum(axis=1) - 1, None]
    np.testing.assert_allclose(legal.shares(x), np.maximum(x - least, 0), atol=1e-5)


def test_rows_inside_are_of_one_category_in_shares(small_frame, rng):
    for cohort in cohorts(small_frame):
        fitted = prepare.fit(cohort.frame, cohort.schema)
        rules = legal.legal(fitted)
        x = np.asarray(rules.inside((2 * rng.normal(size=(50, fitted.width))).astype(np.float32)))
        np.testing.assert_allclose(rules.inside(x), x, atol=1e-4)
        real = fitted.transform(cohort.frame)
        np.testing.assert_allclose(rules.inside(real), real, atol=1e-4)
        for start, stop in rules.categories:
            parts = x[:, start:stop] * rules.scale[start:stop] + rules.mean[start:stop]
            assert parts.min() > -1e-5
            np.testing.assert_allclose(parts.sum(axis=1), 1, atol=1e-4)

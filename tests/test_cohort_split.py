import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attar.cohort import Cohort
from attar.cohort.split import big, blocks, split
from attar.errors import DataError


def sides(made, rows):
    side = np.full(rows, -1)
    for number, part in enumerate((made.train, made.validation, made.test)):
        assert part.dtype == np.int64
        assert (np.diff(part) > 0).all()
        assert (side[part] == -1).all()
        side[part] = number
    assert (side >= 0).all()
    return side


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(300, 3000),
    per_patient=st.integers(1, 8),
    share=st.floats(0.05, 0.6),
    targets=st.integers(1, 4),
    seed=st.integers(0, 2**31),
)
def test_no_block_crosses_and_shares_are_kept(rows, per_patient, share, targets, seed):
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, max(rows // per_patient, 1), rows)
    contents = rng.integers(0, 20 * rows, rows).astype(np.uint64)
    labels = (rng.random((rows, targets)) < share).astype(np.int8)
    members = blocks(ids, contents)
    side = sides(split(labels, members, seed), rows)
    for key in (ids, contents, members):
        assert pd.Series(side).groupby(key).nunique().max() == 1
    if not big(members).any():
        slack = (targets + 1) * 3 * np.bincount(members).max() / rows + 0.01
        assert np.abs(np.bincount(side, minlength=3) / rows - [0.65, 0.15, 0.20]).max() < slack


@settings(max_examples=40, deadline=None)
@given(positives=st.integers(10, 40), seed=st.integers(0, 2**31))
def test_both_classes_are_on_every_side_from_ten_patients_on(positives, seed):
    labels = (np.arange(500) < positives).astype(np.int8)[:, None]
    side = sides(split(labels, np.arange(500), seed), 500)
    assert set(side[:positives]) == {0, 1, 2}
    counts = np.bincount(side[:positives], minlength=3)
    assert np.abs(counts - positives * np.array([0.65, 0.15, 0.20])).max() < 3


def test_prevalence_is_even_and_the_seed_decides():
    rng = np.random.default_rng(0)
    labels = (rng.random((20_000, 1)) < 0.02).astype(np.int8)
    members = np.arange(20_000)
    one, again, other = split(labels, members, 1), split(labels, members, 1), split(labels, members, 2)
    for rows in (one.train, one.validation, one.test):
        assert abs(labels[rows].mean() - labels.mean()) < 0.001
    assert (one.test == again.test).all()
    assert not np.array_equal(one.test, other.test)


def test_rows_are_shuffled_and_no_block_has_a_fixed_side():
    labels = (np.arange(20_000) % 4 == 0).astype(np.int8)[:, None]
    side = sides(split(labels, np.arange(20_000), 0), 20_000)
    neighbours = (side[1:8000] == 2) & (side[2:8001] == 2)
    assert abs(neighbours.mean() - 0.04) < 0.01
    members = np.maximum(np.arange(20_000) - 50, 0)
    assert {sides(split(labels, members, seed), 20_000)[0] for seed in range(25)} == {0, 1, 2}


def test_rare_labels_are_spread():
    rng = np.random.default_rng(1)
    labels = (rng.random((4000, 3)) < [0.01, 0.1, 0.4]).astype(np.int8)
    side = sides(split(labels, np.arange(4000), 0), 4000)
    rare = labels[:, 0] == 1
    assert np.abs(np.bincount(side[rare]) / rare.sum() - [0.65, 0.15, 0.20]).max() < 0.06


def test_blocks_join_along_chains():
    # Rows 0 and 1 share a patient, rows 1 and 2 are equal, row 3 stands alone, rows 4 and 5 are equal.
    members = blocks(np.array([0, 0, 1, 2, 3, 4]), np.array([10, 11, 11, 12, 13, 13], dtype=np.uint64))
    assert members[0] == members[1] == members[2]
    assert members[4] == members[5]
    assert len(set(members)) == 3
    assert set(members) == {0, 1, 2}


def test_big_blocks_go_to_training():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=3000), "visit": np.arange(3000), "died": rng.integers(0, 2, 3000)})
    frame["patient"] = np.where(frame.index < 500, 0, frame.index)
    cohort = Cohort.of(frame, "died", id="patient", drop="visit")
    assert cohort.warnings == (
        "1 patient(s) or sets of equal rows hold more than 1 % of the rows each (500 rows in all); these go to "
        "training, so validation and test are smaller.",
    )
    for seed in range(3):
        assert np.isin(np.arange(500), cohort.split(seed).train).all()


def test_equal_rows_stay_together_and_are_reported():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=900), "y": rng.choice(["a", None], 900), "z": rng.integers(0, 5, 900)})
    frame["died"] = rng.integers(0, 2, 900)
    frame = pd.concat([frame, frame.iloc[:300]], ignore_index=True)
    cohort = Cohort.of(frame, "died")
    assert any(warning.startswith("300 rows repeat another row") for warning in cohort.warnings)
    side = sides(cohort.split(4), 1200)
    assert (side[:300] == side[900:]).all()
    assert len(set(side[:300])) == 3


def test_equal_features_with_other_labels_are_no_copies():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": np.repeat(rng.normal(size=200), 2), "died": np.tile([0, 1], 200)})
    assert len(np.unique(Cohort.of(frame, "died").blocks)) == 400


def test_a_side_with_one_class_is_refused():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=500), "died": (np.arange(500) < 12).astype(int)})
    frame.loc[frame["died"] == 1, "x"] = 1.0
    with pytest.raises(DataError, match=r"one class of target 'died'.*more patients"):
        Cohort.of(frame, "died").split(0)


def test_many_blocks_are_fast():
    rng = np.random.default_rng(0)
    labels = (rng.random((200_000, 1)) < 0.1).astype(np.int8)
    ids = rng.integers(0, 100_000, 200_000)
    start = time.process_time()
    split(labels, blocks(ids, np.arange(200_000, dtype=np.uint64)), 0)
    assert time.process_time() - start < 2

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from attar.cohort.grid import Gridded, grid
from attar.cohort.prepared import Channel

PULSE, URINE = Channel(name="pulse"), Channel(name="urine", rule="sum")


def gridded(rows, hours=3, stays=1, channels=(PULSE, URINE)):
    """Grid rows of (stay, time, channel, value)."""
    values = np.full((stays, hours, len(channels)), np.nan, np.float32)
    stay, time, channel, found = zip(*rows, strict=True) if rows else ((), (), (), ())
    return values, grid(values, stay, time, channel, found, channels)


@pytest.mark.parametrize(
    ("time", "hour"),
    [(0, 0), (1e-3, 0), (1, 0), (1 + 5e-7, 0), (1.001, 1), (2, 1), (2.5, 2), (3, 2), (3 + 5e-7, 2), (-5e-7, 0)],
)
def test_an_hour_is_open_below_and_closed_above(time, hour):
    values, counts = gridded([(0, time, 0, 7)])
    assert np.flatnonzero(values[0, :, 0] == 7).tolist() == [hour]
    assert counts == Gridded(used=1, outside=0, doubled=0)


def test_the_last_value_of_an_hour_counts_in_any_order_of_rows():
    values, counts = gridded([(0, 0.5, 0, 80), (0, 0.9, 0, 90), (0, 0.2, 0, 70), (0, 2.2, 0, 60)])
    assert_array_equal(values[0, :, 0], [90, np.nan, 60])
    assert counts.used == 4


def test_amounts_add_up_within_their_hour():
    values, counts = gridded([(0, 0.5, 1, 100), (0, 0.9, 1, 50), (0, 1.5, 1, 30)])
    assert_array_equal(values[0, :, 1], [150, 30, np.nan])
    assert counts == Gridded(3, 0, 0)


def test_of_equal_times_the_last_row_counts_and_the_others_are_counted():
    values, counts = gridded([(0, 0.5, 0, 80), (0, 0.5, 0, 90), (0, 0.5, 0, 85)])
    assert values[0, 0, 0] == 85
    assert counts == Gridded(used=1, outside=0, doubled=2)


def test_two_amounts_at_one_time_are_two_portions_but_one_amount_twice_is_one():
    values, counts = gridded([(0, 0.5, 1, 100), (0, 0.5, 1, 40), (0, 0.5, 1, 100)])
    assert values[0, 0, 1] == 140
    assert counts == Gridded(used=2, outside=0, doubled=1)


def test_times_off_the_grid_are_left_out_and_counted():
    values, counts = gridded([(0, -0.1, 0, 1), (0, 3.1, 0, 2), (0, 1.5, 0, 3), (0, np.nan, 0, 4)])
    assert_array_equal(values[0, :, 0], [np.nan, 3, np.nan])
    assert counts == Gridded(used=1, outside=3, doubled=0)


def test_a_missing_value_neither_hides_an_earlier_one_nor_is_counted():
    values, counts = gridded([(0, 0.2, 0, 80), (0, 0.4, 0, np.nan), (0, 9, 0, np.nan), (0, 0.3, 1, np.nan)])
    assert_array_equal(values[0, 0], [80, np.nan])
    assert counts == Gridded(used=1, outside=0, doubled=0)


def test_stays_and_channels_do_not_mix():
    values, counts = gridded([(1, 0.5, 0, 80), (0, 0.5, 0, 60), (1, 0.5, 1, 5), (0, 0.5, 1, 6)], stays=2)
    assert_array_equal(values[:, 0], [[60, 6], [80, 5]])
    assert counts.doubled == 0


def test_stays_in_another_call_are_left_as_they_are():
    values, _ = gridded([(0, 0.5, 0, 60), (0, 0.5, 1, 6)], stays=2)
    grid(values, [1], [0.5], [1], [9], (PULSE, URINE))
    assert_array_equal(values[:, 0], [[60, 6], [np.nan, 9]])


def test_no_rows_leave_the_grid_empty():
    values, counts = gridded([])
    assert np.isnan(values).all()
    assert counts == Gridded(0, 0, 0)

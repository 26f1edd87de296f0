"""Which method is best: the paired test as scipy's, Holm's correction by hand, marks that say no more than the data."""

import numpy as np
import pytest
from scipy import stats

from attar.bench.compare import BEST, LEVEL, TIED, Tally, holm, marks, paired, tally


def seeds(*values):
    return dict(enumerate(values))


@pytest.mark.parametrize("count", [3, 5, 10])
def test_the_paired_test_is_that_of_scipy(rng, count):
    one, other = rng.normal(0.6, 0.02, count), rng.normal(0.58, 0.02, count)
    expected = stats.ttest_rel(one, other).pvalue
    assert paired(seeds(*one), seeds(*other)) == pytest.approx(expected, rel=1e-9)
    assert paired(seeds(*other), seeds(*one)) == pytest.approx(expected, rel=1e-9)


def test_only_seeds_of_both_are_paired(rng):
    one, other = rng.normal(size=6), rng.normal(size=6)
    whole = dict(enumerate(one)) | {10: 99.0}
    shuffled = {seed: other[seed] for seed in (5, 2, 0, 1, 4, 3)} | {11: -99.0}
    assert paired(whole, shuffled) == pytest.approx(stats.ttest_rel(one, other).pvalue)


def test_two_seeds_are_too_few_to_test():
    assert np.isnan(paired(seeds(0.9, 0.9), seeds(0.1, 0.1)))
    assert np.isnan(paired({0: 1.0, 1: 1.0, 2: 1.0}, {7: 1.0, 8: 1.0, 9: 1.0}))


def test_differences_that_do_not_vary():
    assert paired(seeds(0.5, 0.5, 0.5), seeds(0.5, 0.5, 0.5)) == 1.0
    assert paired(seeds(0.75, 0.5, 0.25), seeds(0.5, 0.25, 0.0)) == 0.0


def test_holm_by_hand():
    # Sorted: .01 x 4 = .04, .02 x 3 = .06, .03 x 2 = .06, .04 x 1 = .04 raised to .06.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_holm_leaves_out_what_was_not_tested():
    corrected = holm([0.01, float("nan"), 0.04])
    assert corrected[0] == pytest.approx(0.02)
    assert np.isnan(corrected[1])
    assert corrected[2] == pytest.approx(0.04)


def test_best_tied_and_worse_are_told_apart():
    found = marks(
        {
            "worse": seeds(0.50, 0.51, 0.52, 0.50, 0.51),
            "best": seeds(0.64, 0.65, 0.66, 0.65, 0.64),
            "near": seeds(0.65, 0.63, 0.66, 0.64, 0.65),
            "missing": {},
        }
    )
    assert found == {"worse": "", "best": BEST, "near": TIED, "missing": ""}


def test_correction_is_for_every_pair():
    values = {
        "best": seeds(0.640, 0.650, 0.660, 0.655),
        "second": seeds(0.630, 0.647, 0.648, 0.649),
    }
    crowd = {f"other {n}": seeds(*(0.5 + 0.01 * n + 0.03 * np.sin([n, 2 * n, 3 * n, 5 * n]))) for n in range(1, 6)}
    alone = paired(values["best"], values["second"])
    assert LEVEL / 21 < alone < LEVEL
    assert marks(values)["second"] == ""
    assert marks(values | crowd)["second"] == TIED


@pytest.mark.parametrize("count", [1, 2])
def test_with_few_seeds_the_best_is_marked_and_nothing_is_tied(count):
    found = marks({"one": seeds(*[0.6] * count), "two": seeds(*[0.5999] * count)})
    assert found == {"one": BEST, "two": ""}


def test_equal_means_are_tied_with_any_seeds():
    assert marks({"one": seeds(0.5), "two": seeds(0.5)}) == {"one": BEST, "two": TIED}


def test_one_method_alone_wins_nothing():
    assert marks({"one": seeds(0.5, 0.6, 0.7), "two": {}}) == {"one": "", "two": ""}
    assert marks({}) == {}


def test_wins_and_ties_are_counted():
    cells = [{"a": BEST, "b": TIED}, {"a": BEST, "b": ""}, {"a": TIED, "b": BEST}, {"b": ""}]
    assert tally(cells) == {"a": Tally(2, 1), "b": Tally(1, 1)}


def test_equal_methods_are_seldom_told_apart(rng):
    """Of a hundred cells with six equal methods, about five may be wrong about any pair."""
    wrong = 0
    for _ in range(100):
        values = {str(name): seeds(*rng.normal(0.6, 0.01, 5)) for name in range(6)}
        wrong += "" in marks(values).values()
    assert wrong <= 12

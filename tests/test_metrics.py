import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from attar.evaluate.metrics import METRICS, counted, macro, per_label

JITTED = {name: jax.jit(metric) for name, metric in METRICS.items()}
REFERENCE = {"auroc": roc_auc_score, "auprc": average_precision_score}


@pytest.mark.parametrize("name", sorted(METRICS))
@given(
    seed=st.integers(0, 10**6), levels=st.sampled_from([2, 5, 50, 10**6]), prevalence=st.sampled_from([0.02, 0.3, 0.9])
)
@settings(max_examples=25, deadline=None)
def test_equal_to_scikit_learn_ties_included(name, seed, levels, prevalence):
    rng = np.random.default_rng(seed)
    y = rng.random(300) < prevalence
    y[:2] = [True, False]
    scores = (np.round(rng.normal(size=300) * levels / 4) / levels).astype(np.float32)
    found = float(JITTED[name](scores, y.astype(np.float32)))
    assert found == pytest.approx(REFERENCE[name](y, scores), abs=2e-6)


def test_negative_zero_and_extremes_rank_like_numbers():
    scores = np.array([-np.inf, -1e30, -0.0, 0.0, 1e-30, 1e30, np.inf], np.float32)
    y = np.array([0, 1, 0, 1, 0, 1, 1], np.float32)
    finite = np.array([-3, -2, 0, 0, 1, 2, 3.0])
    assert float(METRICS["auprc"](scores, y)) == pytest.approx(average_precision_score(y, finite), abs=1e-6)


def test_macro_is_the_mean_over_the_labels_that_are_not_too_rare(rng):
    logits, y = rng.normal(size=(80, 3)).astype(np.float32), (rng.random((80, 3)) < 0.4).astype(np.float32)
    each = [average_precision_score(y[:, label], logits[:, label]) for label in range(3)]
    values = per_label(METRICS["auprc"], logits, y)
    np.testing.assert_allclose(values, each, atol=1e-6)
    assert float(macro(values, y)) == pytest.approx(np.mean(each), abs=1e-6)
    y[:, 1] = np.arange(80) < 9
    assert counted(y).tolist() == [True, False, True]
    assert float(macro(values, y)) == pytest.approx((each[0] + each[2]) / 2, abs=1e-6)
    y[:, 1] = np.arange(80) >= 9
    assert counted(y).tolist() == [True, False, True]
    assert counted(y[:, 1:2]).tolist() == [True], "a single label always counts"

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from attar.evaluate.metrics import METRICS, macro

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


def test_macro_is_the_mean_over_labels(rng):
    logits, y = rng.normal(size=(80, 3)).astype(np.float32), (rng.random((80, 3)) < 0.4).astype(np.float32)
    expected = np.mean([average_precision_score(y[:, label], logits[:, label]) for label in range(3)])
    assert float(macro(METRICS["auprc"], logits, y)) == pytest.approx(expected, abs=1e-6)

import jax
import jax.numpy as jnp
import numpy as np

from attar.models import MODELS
from attar.models.deep import DeepMLP
from attar.models.layout import table
from attar.models.loss import binary_cross_entropy
from attar.models.mlp import MLP

MODEL = MLP(features=4, outputs=2, hidden=8, dropout=0.25)


def test_flat_vector_holds_every_tensor_once():
    assert MODEL.size == 4 * 8 + 8 + 8 * 2 + 2
    assert MODEL.init(jax.random.key(0)).shape == (MODEL.size,)


def test_apply_is_one_hidden_relu_layer():
    theta, x = MODEL.init(jax.random.key(1)), jax.random.normal(jax.random.key(2), (5, 4))
    w1, b1, w2, b2 = theta[:32].reshape(4, 8), theta[32:40], theta[40:56].reshape(8, 2), theta[56:]
    np.testing.assert_allclose(MODEL.apply(theta, x), np.maximum(x @ w1 + b1, 0) @ w2 + b2, atol=1e-6)


def test_dropout_keeps_the_expected_hidden_layer():
    theta, x = MODEL.init(jax.random.key(1)), jax.random.normal(jax.random.key(2), (1, 4))
    keep = jax.random.bernoulli(jax.random.key(3), 0.75, (20_000, *MODEL.units(1)))
    dropped = jax.vmap(lambda mask: MODEL.apply(theta, x, mask))(keep)
    assert float(dropped.std()) > 0.01
    np.testing.assert_allclose(dropped.mean(axis=0), MODEL.apply(theta, x), atol=0.01)


def test_init_stays_within_one_over_root_inputs():
    theta = MODEL.init(jax.random.key(0))
    assert float(jnp.abs(theta[:40]).max()) <= 4**-0.5
    assert float(jnp.abs(theta[:40]).max()) > 0.9 * 4**-0.5
    assert float(jnp.abs(theta[40:]).max()) <= 8**-0.5


def test_loss_is_weighted_mean_of_log_losses():
    logits, y = jnp.array([[0.0], [2.0]]), jnp.array([[1.0], [0.0]])
    entries = np.array([np.log(2), np.log1p(np.exp(2.0))])
    np.testing.assert_allclose(binary_cross_entropy(logits, y), entries.mean(), rtol=1e-6)
    weighted = binary_cross_entropy(logits, y, jnp.array([[3.0], [1.0]]))
    np.testing.assert_allclose(weighted, (3 * entries[0] + entries[1]) / 2, rtol=1e-6)


def test_the_papers_variants_have_their_widths():
    made = {name: MODELS[name].make(table(5), 1, 8, 0.25) for name in MODELS if not MODELS[name].series}
    assert (made["mlp-1"].hidden, made["mlp-2"].hidden) == (16, 32)
    assert (made["mlp-3"].widths, made["mlp-4"].widths) == ((8, 16), (8, 16, 32))


def test_a_deep_network_is_its_layers_one_after_the_other():
    model = DeepMLP(features=4, outputs=2, widths=(8, 3), dropout=0.25)
    theta, x = model.init(jax.random.key(1)), jax.random.normal(jax.random.key(2), (5, 4))
    assert theta.shape == (model.size,) == (4 * 8 + 8 + 8 * 3 + 3 + 3 * 2 + 2,)
    first, second, last = np.split(np.asarray(theta), [40, 67])
    hidden = np.maximum(x @ first[:32].reshape(4, 8) + first[32:], 0)
    hidden = np.maximum(hidden @ second[:24].reshape(8, 3) + second[24:], 0)
    np.testing.assert_allclose(model.apply(theta, x), hidden @ last[:6].reshape(3, 2) + last[6:], atol=1e-6)
    keep = jnp.ones(model.units(5), bool).at[:, 8:].set(False)
    np.testing.assert_allclose(model.apply(theta, x, keep), np.tile(last[6:], (5, 1)), atol=1e-6)

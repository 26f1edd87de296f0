"""The same networks in PyTorch, as anyone would write them: what attar's speed is compared with."""

from typing import Any

import torch
from torch.nn.functional import batch_norm, conv1d, dropout, pad, prelu

from attar.models.lstm import LSTM
from attar.models.mlp import MLP
from attar.models.tcn import TCN


def mlp(model: MLP, theta: list[Any], x: Any, rate: float) -> Any:
    """One hidden layer."""
    weight, bias, out_weight, out_bias = theta
    hidden = dropout(torch.relu(torch.addmm(bias, x, weight)), rate, training=rate > 0)
    return torch.addmm(out_bias, hidden, out_weight)


def tcn(model: TCN, theta: list[Any], x: Any, rate: float) -> Any:
    """One residual block of two causal convolutions."""
    *layers, shortcut, shortcut_bias, out_weight, out_bias = theta
    series = x.reshape(len(x), model.layout.hours, -1).transpose(1, 2)
    hidden = series
    for kernel, bias, scale, shift, slope in (layers[:5], layers[5:]):
        hidden = conv1d(pad(hidden, (len(kernel) - 1, 0)), kernel.permute(2, 1, 0), bias)
        hidden = batch_norm(hidden, None, None, scale, shift, training=True)
        hidden = dropout(prelu(hidden, slope), rate, training=rate > 0)
    hidden = hidden + conv1d(series, shortcut.T[:, :, None], shortcut_bias)
    return torch.addmm(out_bias, hidden.mean(dim=2), out_weight)


def lstm(model: LSTM, theta: list[Any], x: Any, rate: float) -> Any:
    """One recurrent layer, hour by hour: PyTorch's own cannot be differentiated twice."""
    weight, bias, state, out_weight, out_bias = theta
    gates = x.reshape(len(x), model.layout.hours, -1) @ weight + bias
    shown = cell = torch.zeros(len(x), model.hidden)
    for hour in range(model.layout.hours):
        into, forget, new, out = torch.chunk(gates[:, hour] + shown @ state, 4, dim=1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(into) * torch.tanh(new)
        shown = torch.sigmoid(out) * torch.tanh(cell)
    return torch.addmm(out_bias, dropout(shown, rate, training=rate > 0), out_weight)


NETWORKS = {MLP: mlp, TCN: tcn, LSTM: lstm}

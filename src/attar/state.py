"""What the outer loop carries from one iteration to the next, and what it leaves behind."""

from typing import NamedTuple

import numpy as np
from jax import Array


class State(NamedTuple):
    """Everything the outer loop carries; saved, it continues to the same bytes."""

    iteration: Array
    x: Array
    velocity: Array
    square: Array
    average: Array
    y: Array
    label_velocity: Array
    log_step: Array
    log_step_velocity: Array
    reach: Array
    good_x: Array
    good_average: Array
    good_y: Array
    good_log_step: Array
    streak: Array
    skipped: Array
    rollbacks: Array
    kept_x: Array
    kept_y: Array
    kept_score: Array
    kept_iteration: Array
    best_scores: Array


class Passed(NamedTuple):
    """A chunk before its snapshots are scored: loss and step size [snapshots, every], and the snapshots themselves."""

    loss: Array
    step_size: Array
    inputs: Array
    labels: Array
    iterations: Array


class Chunk(NamedTuple):
    """What happened in a chunk: per iteration loss and step size, per snapshot its iteration and validation AUPRC."""

    loss: Array | np.ndarray
    step_size: Array | np.ndarray
    scored: Array | np.ndarray
    score: Array | np.ndarray

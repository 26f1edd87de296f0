"""Students that train on as receivers do, and should still predict as the teachers.

A student that follows a path takes a few plain steps from a teacher's start, and what it then predicts depends on that
start. Whoever receives the set begins elsewhere and trains on, with momentum and weight decay, until the start is
forgotten and the set alone decides. So students begin afresh here, train as receivers do, and after a number of steps
that is drawn anew each time their ranking of real patients is compared with that of all teachers together.

The gradient goes back through the last `stay.window` steps only: through all of them it would be dear, and chaotic.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from attar import train
from attar.evaluate.utility import predict
from attar.models import Model
from attar.models.student import student_loss
from attar.paths import Path
from attar.patients import ROUND, Patients
from attar.recipe import Recipe

FAINTEST = 1e-6
"""Product of two rankings' spreads below which they are the same for all patients: the loss divides by no less."""

CALIBRATION = 2048
"""Real patients by whom the teachers' channels are normalised, if their network normalises any."""


class Goal(NamedTuple):
    """Real patients, and the mean logit of all teachers for each of them [rows, labels]."""

    patients: Patients
    logits: Array


@partial(jax.jit, static_argnames="model")
def goal(model: Model, paths: Path, patients: Patients) -> Goal:
    """Return what students should predict where the paths end."""
    ends = jax.vmap(lambda path: path.at(jnp.float32(1.0)))(paths)

    stats = lax.map(partial(model.calibrate, x=patients.among(CALIBRATION)), ends)

    def mean_logit(x: Array) -> Array:
        return jnp.mean(lax.map(lambda one: model.apply(one[0], x, stats=one[1]), (ends, stats)), axis=0)

    blocks = patients.x.reshape(-1, ROUND, patients.x.shape[1])
    return Goal(patients, lax.map(mean_logit, blocks).reshape(len(patients.x), -1))


def disagreement(logits: Array, wanted: Array) -> Array:
    """Return one less the correlation of logits [patients, labels], mean over labels: their scale does not matter."""
    logits, wanted = logits - logits.mean(axis=0), wanted - wanted.mean(axis=0)
    spread = jnp.sqrt(jnp.sum(logits**2, axis=0) * jnp.sum(wanted**2, axis=0) + FAINTEST)
    return 1 - jnp.mean(jnp.sum(logits * wanted, axis=0) / spread)


class Learned(NamedTuple):
    """How far a student's ranking is from the teachers', and the gradients by the set's inputs and labels."""

    loss: Array
    inputs: Array
    labels: Array


def learn(model: Model, goal: Goal, x: Array, y: Array, batches: Array | None, recipe: Recipe, key: Array) -> Learned:
    """Train one fresh student on the set (x, y); batches [steps, rows] where a step sees only some of its rows."""
    settings, receiver = recipe.stay, recipe.evaluate
    start_key, patients_key, length_key = jax.random.split(key, 3)
    rows = goal.patients.rows(patients_key, recipe.student.patients)
    length = jax.random.randint(length_key, (), settings.least, settings.steps + 1)
    stride, decay = train.stride(receiver.step_size, y), train.shrinkage(receiver.weight_decay, y)

    def step(x: Array, y: Array, number: Array, fit: train.Fit) -> train.Fit:
        seen = None if batches is None else batches[number]
        slope = jax.grad(student_loss, 1)(model, fit.theta, x, y, seen) + decay * fit.theta
        velocity = receiver.momentum * fit.velocity + slope
        return train.Fit(fit.theta - stride * velocity, velocity)

    before = length - settings.window
    begun = lax.fori_loop(0, before, partial(step, x, y), train.begin(model.init(start_key)))

    def loss(x: Array, y: Array) -> Array:
        numbers = before + jnp.arange(settings.window)
        fit, _ = lax.scan(lambda fit, number: (step(x, y, number, fit), None), begun, numbers)
        return disagreement(predict(model, fit.theta, x, goal.patients.x[rows]), goal.logits[rows])

    found, (by_x, by_y) = jax.value_and_grad(loss, (0, 1))(x, y)
    return Learned(found, by_x, by_y)

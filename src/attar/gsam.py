"""GSAM (surrogate gap guided sharpness-aware minimisation): which way a flat-minima teacher steps (FTD, DATM)."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from attar.models import Model
from attar.train import Task, batch_loss

TINY = 1e-12


@dataclass(frozen=True)
class Gsam:
    """Descends the worst loss nearby, and the gap between that and the loss here.

    With g the gradient at w, e = radius * g / |g| (adaptive: radius * w^2 g / |(w g)|) and g_p the gradient at w + e on
    the same batch with the same dropout mask, the direction is g_p - surrogate * (part of g orthogonal to g_p).
    """

    radius: float
    surrogate: float
    adaptive: bool

    def __call__(self, model: Model, theta: Array, task: Task, keep: Array | None, share: Array) -> Array:
        """Return the direction [p] for one network; the radius shrinks with the step size's `share`."""
        here = jax.grad(batch_loss, 1)(model, theta, task, keep)
        scale = jnp.abs(theta) if self.adaptive else jnp.ones_like(theta)
        ascent = share * self.radius * scale**2 * here / (jnp.linalg.norm(scale * here) + TINY)
        nearby = jax.grad(batch_loss, 1)(model, theta + ascent, task, keep)
        along = jnp.vdot(here, nearby) / (jnp.vdot(nearby, nearby) + TINY)
        return nearby - self.surrogate * (here - along * nearby)

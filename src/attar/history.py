"""What the outer loop went through: kept beside its state while it runs, written as a table at its end."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from attar.state import Chunk

_PREFIX = "history."


def join(chunks: Sequence[Chunk]) -> Chunk:
    """Return the chunks so far as one."""
    return Chunk(*(np.concatenate([np.asarray(part) for part in parts]) for parts in zip(*chunks, strict=True)))


def to_arrays(chunks: Sequence[Chunk]) -> dict[str, np.ndarray]:
    """Return the history under names of its own, so that it can be saved beside the state."""
    return {_PREFIX + field: np.asarray(value) for field, value in join(chunks)._asdict().items()}


def from_arrays(saved: dict[str, np.ndarray]) -> Chunk:
    """Return the history that `to_arrays` saved."""
    return Chunk(*(saved[_PREFIX + field] for field in Chunk._fields))


def table(chunks: Sequence[Chunk]) -> pd.DataFrame:
    """Return one row an iteration; validation AUPRC where a snapshot was scored."""
    whole = join(chunks)
    iterations = np.arange(1, len(whole.loss) + 1)
    scores = np.full(len(iterations), np.nan, np.float32)
    scores[np.asarray(whole.scored) - 1] = whole.score
    return pd.DataFrame(
        {"iteration": iterations, "loss": whole.loss, "step_size": whole.step_size, "val_auprc": scores}
    )

"""Cohort: a checked table of patients, the series beside it, its outcomes, and the words about it."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from attar.cohort import intake
from attar.cohort import series as hourly
from attar.cohort.leaks import leaks
from attar.cohort.origin import find
from attar.cohort.roles import assign, check_kinds, listed
from attar.cohort.schema import Channel, Scalar, Schema
from attar.cohort.series import Series
from attar.cohort.split import Split, big, blocks, refuse_one_class, split
from attar.errors import DataError


@dataclass(frozen=True, eq=False, repr=False)
class Cohort:
    """Features, 0/1 labels [rows, targets] and schema of one table; `ids` are patient numbers 0, 1, ... per row.

    `contents` is a hash per row over features and labels: equal rows, equal hash. `series` are hourly measurements of
    the same patients; the table then holds what does not change over time, possibly nothing.
    """

    name: str
    frame: pd.DataFrame
    labels: NDArray[np.int8]
    schema: Schema
    ids: NDArray[np.int64] | None
    groups: pd.DataFrame
    contents: NDArray[np.uint64]
    warnings: tuple[str, ...] = ()
    series: Series | None = None

    @classmethod
    def read(
        cls,
        source: str | Path,
        target: str | Iterable[str] | None = None,
        *,
        features: Iterable[str] | None = None,
        drop: str | Iterable[str] = (),
        id: str | None = None,  # noqa: A002
        groups: str | Iterable[str] = (),
        kinds: Mapping[str, str] | None = None,
        positive: Scalar | Mapping[str, Scalar] | None = None,
    ) -> Self:
        """Read a built-in cohort by name, a CSV or Parquet file, or a folder made by `attar prepare`.

        Built-in and prepared cohorts know their targets; those not asked for are no features unless `features` names
        them.
        """
        found = find(source)
        chosen = found.targets if target is None else listed(target)
        used = {*chosen, *listed(features), *listed(id), *listed(groups), *listed(drop)}
        return cls.of(
            found.frame,
            chosen,
            features=features,
            drop=listed(drop) + tuple(name for name in found.targets if name not in used),
            id=id or found.id,
            groups=listed(groups) + tuple(name for name in found.groups if name not in used),
            kinds=kinds,
            positive=positive,
            series=found.series,
            name=found.name,
            warnings=found.warnings,
        )

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        target: str | Iterable[str] | None,
        *,
        features: Iterable[str] | None = None,
        drop: str | Iterable[str] = (),
        id: str | None = None,  # noqa: A002
        groups: str | Iterable[str] = (),
        kinds: Mapping[str, str] | None = None,
        positive: Scalar | Mapping[str, Scalar] | None = None,
        series: Series | None = None,
        name: str = "table",
        warnings: Iterable[str] = (),
    ) -> Self:
        """Check a DataFrame, and series of the same patients, and make a cohort of it.

        `positive` is the value of the target that counts as 1, or one per target; `kinds` overrides the inferred kind
        of a column. Group columns are for reporting: they are features only if `features` names them too. `drop` may
        name channels of the series as well as columns.
        """
        table = frame.set_axis([str(column) for column in frame.columns], axis=1).reset_index(drop=True)
        intake.refuse_doubles(table.columns)
        chosen = None if features is None else listed(features)
        dropped, channels = hourly.split_drop(series, listed(drop), list(table.columns))
        roles = assign(
            list(table.columns),
            targets=listed(target),
            features=chosen,
            drop=dropped,
            id=id,
            groups=listed(groups),
            may_lack=series is not None,
        )
        overrides = dict(kinds or {})
        check_kinds(overrides, roles.features)
        if series is not None:
            series, of_series = hourly.check(series.without(channels), len(table))
            warnings = (*warnings, *of_series)
        table, rows, of_rows = intake.with_outcome(table, roles.targets)
        series = None if series is None else series.take(rows)
        labels, targets, of_targets = intake.outcomes(table, roles.targets, positive)
        ids, of_ids = (None, ()) if id is None else intake.patients(table[id])
        intake.refuse_few(labels, targets, ids)
        kept, columns, of_columns = intake.features(
            table, roles.features, overrides, {*overrides, *(chosen or ())}, series is not None
        )
        schema = Schema(columns=columns, targets=targets, id=id, groups=roles.groups)
        if series is not None:
            schema = schema.model_copy(update={"hours": series.hours, "channels": series.channels})
        contents = _hashes(pd.concat([kept, pd.DataFrame(labels)], axis=1))
        contents = contents if series is None else contents ^ series.hashes()
        said = (*warnings, *of_rows, *of_targets, *of_ids, *of_columns, *leaks(kept, schema, labels))
        said += _togetherness(contents, blocks(ids, contents))
        return cls(name, kept, labels, schema, ids, table[list(roles.groups)], contents, said, series)

    @classmethod
    def from_arrays(
        cls,
        X: ArrayLike | pd.DataFrame,  # noqa: N803
        y: ArrayLike | pd.Series,
        channels: Sequence[Channel | str] | None = None,
    ) -> Self:
        """Make a cohort of a feature matrix, or of series [patients, hours, channels], and outcomes.

        Outcomes are [rows] or [rows, targets]. Names are kept where X or y has them, else columns are x0, x1, ...,
        channels c0, c1, ... and the target is y (or y0, y1, ...).
        """
        values = X if isinstance(X, pd.DataFrame) else np.asarray(X)
        outcomes = np.asarray(y)
        series = None
        if values.ndim == 3:
            series, values = hourly.from_arrays(values, channels), values[:, 0, :0]
        if values.ndim != 2 or outcomes.ndim not in (1, 2) or len(values) != len(outcomes):
            raise DataError(
                f"X has shape {values.shape} and y {outcomes.shape}: X is [rows, features], y is [rows] or "
                "[rows, targets], with as many rows."
            )
        if isinstance(values, pd.DataFrame):
            frame = values.reset_index(drop=True)
        else:
            frame = pd.DataFrame(values, columns=[f"x{index}" for index in range(values.shape[1])])
        labels = y if isinstance(y, pd.DataFrame | pd.Series) else pd.DataFrame(outcomes)
        if isinstance(labels, pd.Series):
            labels = labels.to_frame(labels.name or "y")
        elif not isinstance(y, pd.DataFrame):
            labels.columns = [f"y{index}" if len(labels.columns) > 1 else "y" for index in labels.columns]
        joined = pd.concat([frame, labels.reset_index(drop=True)], axis=1)
        features = [str(name) for name in frame.columns]
        return cls.of(joined, [str(name) for name in labels.columns], features=features, series=series)

    @property
    def rows(self) -> int:
        """How many rows have an outcome and were kept."""
        return len(self.labels)

    @property
    def prevalence(self) -> NDArray[np.float64]:
        """Share of positives per target."""
        share: NDArray[np.float64] = self.labels.mean(axis=0, dtype=np.float64)
        return share

    @property
    def recipe(self) -> str:
        """Name of the built-in recipe that suits it."""
        return "default" if self.series is None else "series"

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """Block number per row; rows of one patient and equal rows share a block and are never split."""
        return blocks(self.ids, self.contents)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over schema, values, labels, ids and groups; the name has no part in it."""
        digest = hashlib.sha256(self.schema.model_dump_json().encode())
        digest.update(self.contents.tobytes())
        digest.update(b"" if self.ids is None else self.ids.tobytes())
        digest.update(_hashes(self.groups).tobytes() if len(self.groups.columns) else b"")
        return digest.hexdigest()

    def __repr__(self) -> str:
        shares = zip(self.schema.targets, self.prevalence, strict=True)
        outcomes = ", ".join(f"{target.name} {share:.1%}" for target, share in shares)
        size = f"{self.rows} rows, {len(self.schema.columns)} features"
        if self.series is not None:
            size += f", {len(self.series.channels)} channels x {self.series.hours} hours"
        return f"Cohort({self.name!r}, {size}, {outcomes})"

    def split(self, seed: int) -> Split:
        """Split by patient into 65 % training, 15 % validation and 20 % test, stratified by outcome."""
        made = split(self.labels, self.blocks, seed)
        refuse_one_class(self.labels, [target.name for target in self.schema.targets], made)
        return made


def _hashes(frame: pd.DataFrame) -> NDArray[np.uint64]:
    hashes: NDArray[np.uint64] = pd.util.hash_pandas_object(frame, index=False).to_numpy()
    return hashes


def _togetherness(contents: NDArray[np.uint64], members: NDArray[np.int64]) -> tuple[str, ...]:
    said = []
    copies = len(contents) - len(np.unique(contents))
    if copies:
        said.append(
            f"{copies} row{'s repeat' if copies > 1 else ' repeats'} another row in every feature and label; equal "
            "rows are kept together on one side of the split."
        )
    oversized = big(members)
    if oversized.any():
        said.append(
            f"{oversized.sum()} patient(s) or sets of equal rows hold more than 1 % of the rows each "
            f"({oversized[members].sum()} rows in all); these go to training, so validation and test are smaller."
        )
    return tuple(said)

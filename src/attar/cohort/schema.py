"""What each column is: its kind, its dtype and its values; inferred once, shown, and overridable."""

from typing import Any, Literal, cast, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from attar.errors import DataError

Kind = Literal["numeric", "integer", "binary", "categorical"]
Scalar = str | bool | int | float

KINDS: tuple[str, ...] = get_args(Kind)
_YES = {"1", "1.0", "true", "yes", "y", "positive", "pos", "died", "dead"}


class Column(BaseModel):
    """One feature. `values`: (low, high) if binary, the categories if categorical, else empty.

    `levels` and `ordered` belong to pandas `category` columns: every category they declare, seen or not, in its order.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Kind
    dtype: str
    values: tuple[Scalar, ...] = ()
    missing: float = 0.0
    levels: tuple[Scalar, ...] = ()
    ordered: bool = False


class Target(BaseModel):
    """One outcome column and which of its two values counts as 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    negative: Scalar
    positive: Scalar
    dtype: str

    def decode(self, labels: NDArray[Any]) -> pd.Series:
        """Return 0/1 labels as the column's own values and dtype."""
        pair = np.array([self.negative, self.positive], dtype=object)
        codes = np.asarray(labels).astype(np.int64)
        return restore(pair[codes], self.dtype, (self.negative, self.positive)).rename(self.name)


class Channel(BaseModel):
    """One variable measured over time. `rule` says what an hour holds: the last value in it, or their sum.

    `values` are the categories of a categorical channel; the grid holds their positions 0, 1, ...
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Kind = "numeric"
    values: tuple[str, ...] = ()
    unit: str = ""
    rule: Literal["last", "sum"] = "last"


class Schema(BaseModel):
    """The columns of a cohort and the parts they play."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: tuple[Column, ...]
    targets: tuple[Target, ...]
    id: str | None = None
    groups: tuple[str, ...] = ()
    hours: int = 0
    channels: tuple[Channel, ...] = ()

    def summary(self) -> pd.DataFrame:
        """Return one row per feature; `values` counts the distinct ones of a binary or categorical column."""
        return pd.DataFrame(
            {
                "column": [c.name for c in self.columns],
                "kind": [c.kind for c in self.columns],
                "dtype": [c.dtype for c in self.columns],
                "missing": [c.missing for c in self.columns],
                "values": pd.array([len(c.values) or None for c in self.columns], dtype="Int64"),
            }
        )


def is_number(series: pd.Series) -> bool:
    """Whether the dtype is a number's; booleans are not."""
    return bool(pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype))


def numbers(series: pd.Series) -> NDArray[np.float64]:
    """Return a number column as float64, missing as NaN."""
    result: NDArray[np.float64] = series.to_numpy(dtype=np.float64, na_value=np.nan)
    return result


def distinct(series: pd.Series) -> list[Scalar]:
    """Return the distinct values as plain Python scalars, sorted (those of an ordered category in its order)."""
    found: list[Scalar] = series.dropna().unique().tolist()
    if isinstance(series.dtype, pd.CategoricalDtype) and series.dtype.ordered:
        present = set(found)
        return [level for level in series.dtype.categories.tolist() if level in present]
    return sorted(found)


def recognised_positive(pair: list[Scalar]) -> Scalar | None:
    """Return the one of two values that plainly means yes: the larger of two numbers, or a word such as 'died'."""
    try:
        low, high = sorted(pair, key=lambda value: float(value))
    except ValueError:
        yes = [value for value in pair if str(value).strip().lower() in _YES]
        return yes[0] if len(yes) == 1 else None
    return high if float(low) != float(high) else None


def infer(series: pd.Series, kind: str | None = None) -> Column:
    """Describe a column of plain dtype; `kind` overrides the guess where the values allow it."""
    chosen = kind or _guess(series)
    _refuse_override(series, chosen)
    values = distinct(series) if chosen in ("binary", "categorical") else []
    if chosen == "binary" and recognised_positive(values) == values[0]:
        values = values[::-1]
    category = series.dtype if isinstance(series.dtype, pd.CategoricalDtype) else None
    return Column(
        name=str(series.name),
        kind=cast(Kind, chosen),
        dtype=str(series.dtype),
        values=tuple(values),
        missing=float(series.isna().mean()),
        levels=() if category is None else tuple(category.categories.tolist()),
        ordered=category is not None and bool(category.ordered),
    )


def restore(values: NDArray[Any], dtype: str, levels: tuple[Scalar, ...] = (), ordered: bool = False) -> pd.Series:
    """Return values (NaN or None = missing) as a Series of the dtype a Column or Target recorded."""
    if dtype == "category":
        return pd.Series(pd.Categorical(values, categories=list(levels), ordered=ordered))
    return pd.Series(values).astype(dtype)


def _guess(series: pd.Series) -> Kind:
    if not is_number(series):
        return "binary" if series.nunique() == 2 else "categorical"
    found = numbers(series)
    found = found[~np.isnan(found)]
    # Counting distinct values costs a sort; two of them are just the ends of the range.
    low, high = found.min(), found.max()
    if low != high and bool(np.all((found == low) | (found == high))):
        return "binary"
    return "integer" if _whole(found) else "numeric"


def _whole(found: NDArray[np.float64]) -> bool:
    return bool(np.all(found == np.floor(found)))


def _refuse_override(series: pd.Series, kind: str) -> None:
    name = series.name
    if kind in ("numeric", "integer") and not is_number(series):
        raise DataError(
            f"Column {name!r} cannot be {kind}: it is stored as {series.dtype}, not as numbers. "
            "Convert it to numbers first, or take 'categorical'."
        )
    if kind == "integer" and not _whole(numbers(series.dropna())):
        raise DataError(f"Column {name!r} cannot be integer: some of its values are not whole. Take 'numeric'.")
    if kind == "binary" and series.nunique() != 2:
        raise DataError(
            f"Column {name!r} cannot be binary: it has {series.nunique()} distinct values, a binary column has two. "
            "Take 'categorical', or 'numeric' if they are numbers."
        )

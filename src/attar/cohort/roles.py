"""Which column plays which part: targets, features, id, groups; every column named exists and plays one part."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attar.cohort.schema import KINDS
from attar.errors import DataError, nearest


@dataclass(frozen=True)
class Roles:
    """Column names by part."""

    targets: tuple[str, ...]
    features: tuple[str, ...]
    id: str | None
    groups: tuple[str, ...]


def listed(names: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return names as a tuple, once each; a lone string is one name."""
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(str(name) for name in names))


def assign(
    columns: Sequence[str],
    *,
    targets: tuple[str, ...],
    features: tuple[str, ...] | None,
    drop: tuple[str, ...],
    id: str | None,  # noqa: A002
    groups: tuple[str, ...],
    may_lack: bool = False,
) -> Roles:
    """Check the parts against the columns; without `features`, every column that plays no other part is one.

    There may be no feature at all (`may_lack`) where series are the inputs.
    """
    if not targets:
        raise DataError(f"Say which column is the outcome: --target COL (target=).{nearest('', columns)}")
    parts = {"target": targets, "id": listed(id), "group": groups, "dropped": drop, "feature": features or ()}
    for part, names in parts.items():
        for name in names:
            if name not in columns:
                raise DataError(f"Column {name!r}, named as {part}, is not in the table.{nearest(name, columns)}")
    _refuse_two_parts(parts)
    taken = {*targets, *listed(id), *groups, *drop}
    chosen = tuple(name for name in columns if name not in taken) if features is None else features
    if not chosen and not may_lack:
        raise DataError(
            "No feature column is left beside the target, id, groups and dropped columns. Drop fewer, or name the "
            "features with --features (features=)."
        )
    return Roles(targets, chosen, id, groups)


def check_kinds(kinds: dict[str, str], features: tuple[str, ...]) -> None:
    """Raise DataError if an override names no feature or no kind."""
    for name, kind in kinds.items():
        if name not in features:
            raise DataError(f"--kind (kinds=) names {name!r}, which is not a feature column.{nearest(name, features)}")
        if kind not in KINDS:
            raise DataError(f"Column {name!r} cannot be of kind {kind!r}.{nearest(kind, KINDS)}")


def _refuse_two_parts(parts: dict[str, tuple[str, ...]]) -> None:
    first: dict[str, str] = {}
    for part, names in parts.items():
        for name in names:
            other = first.setdefault(name, part)
            if other != part and {other, part} != {"group", "feature"}:
                raise DataError(f"Column {name!r} is named both as {other} and as {part}. Name it once.")

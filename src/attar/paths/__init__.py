"""Paths that stand in for a teacher's training; a new one is a file here and a row in `PATHS`."""

from attar.paths.bezier import Bezier, Line
from attar.paths.checkpoints import Checkpoints
from attar.paths.convexified import Convexified
from attar.paths.path import PROFILE_TIMES, Path, pick, profile

PATHS: dict[str, type[Path]] = {
    "bezier": Bezier,
    "line": Line,
    "convexified": Convexified,
    "checkpoints": Checkpoints,
}

__all__ = ["PATHS", "PROFILE_TIMES", "Bezier", "Checkpoints", "Convexified", "Line", "Path", "pick", "profile"]

"""Results that several runs on one cohort have in common, each computed once: teachers, scores of the whole cohort."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attar.store import Arrays, Folder

HOURS_OF_A_LEFTOVER = 24.0


class Common(Folder):
    """The folder itself, which may be written by several runs at once."""

    option = "--share"


class Share:
    """A folder of results under the fingerprint of all they depend on; without a folder everything is computed."""

    def __init__(self, folder: str | Path | None) -> None:
        self.folder = Common(folder) if folder else None
        if self.folder is not None:
            self.folder.write(
                "README.txt", b"Results that runs of attar have in common. It may be removed at any time.\n"
            )
            for leftover in self.folder.folder.glob(".*.part"):
                if time.time() - leftover.stat().st_mtime > 3600 * HOURS_OF_A_LEFTOVER:
                    leftover.unlink(missing_ok=True)

    def __bool__(self) -> bool:
        return self.folder is not None

    def arrays(self, kind: str, key: Mapping[str, Any], compute: Callable[[], Arrays]) -> Arrays:
        """Return arrays that were computed before for this key, or compute and keep them."""
        return self._recall(_name(kind, key, "safetensors"), compute, Folder.write_arrays, Folder.read_arrays)

    def json(self, kind: str, key: Mapping[str, Any], compute: Callable[[], Any]) -> Any:
        """Return a value that was computed before for this key, or compute and keep it."""
        return self._recall(_name(kind, key, "json"), compute, Folder.write_json, Folder.read_json)

    def _recall(
        self,
        name: str,
        compute: Callable[[], Any],
        write: Callable[[Folder, str, Any], None],
        read: Callable[[Folder, str], Any],
    ) -> Any:
        if self.folder is None:
            return compute()
        if not self.folder.has(name):
            write(self.folder, name, compute())
        return read(self.folder, name)


def _name(kind: str, key: Mapping[str, Any], ending: str) -> str:
    words = json.dumps(key, sort_keys=True)
    return f"{kind}-{hashlib.sha256(words.encode()).hexdigest()[:16]}.{ending}"

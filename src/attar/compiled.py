"""Room for what JAX compiles: each function takes some of the memory maps that Linux allows a process, and keeps them.

A process that condenses dozens of cohorts would end in "Cannot allocate memory" with gigabytes to spare.
"""

from pathlib import Path

import jax

SHARE = 0.5
"""Share of the maps from which all that was compiled is forgotten, to be compiled again when it is needed."""

MAPS, LIMIT = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")


def make_room() -> None:
    """Forget what was compiled if the process nears the limit; where there is none to read, do nothing."""
    try:
        used, limit = MAPS.read_bytes().count(b"\n"), int(LIMIT.read_text())
    except OSError:
        return
    if used > SHARE * limit:
        jax.clear_caches()

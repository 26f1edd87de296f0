"""Where the set comes from: data, settings, seed, versions, timings, files; no names of people or machines."""

import hashlib

from attar.report.source import Facts, Source
from attar.report.spoken import duration, size
from attar.show import FILES

HANDED_OUT = ("condensed.", "patients.")
"""How the names of files begin that leave the run folder."""


def facts(source: Source) -> Facts:
    """Return everything needed to make the run again and to know that a file is from it."""
    manifest, cohort = source.manifest, source.manifest["cohort"]
    machine = manifest["machine"]
    return {
        "identity": [
            {"name": "cohort", "value": cohort["name"]},
            {"name": "data fingerprint", "value": cohort["fingerprint"], "code": True},
            {"name": "method", "value": f"{source.recipe.method} ({source.method.title})"},
            {"name": "seed", "value": str(source.recipe.seed)},
            {"name": "attar", "value": manifest["attar"]},
            {"name": "machine", "value": f"{machine['system']}, {machine['processor']}, {machine['cores']} cores"},
        ],
        "versions": [{"name": name, "value": value} for name, value in sorted(manifest["versions"].items())],
        "seconds": [{"name": name, "value": duration(value)} for name, value in manifest["seconds"].items()],
        "storage": storage(source),
        "settings": [{"name": name, "value": shown(value)} for name, value in source.recipe.flat().items()],
        "files": [
            file(source, name, purpose)
            for name, purpose in FILES.items()
            if name.startswith(HANDED_OUT) and source.run.has(name)
        ],
    }


def storage(source: Source) -> str | None:
    """Say how much smaller the stored teachers are than all their epochs."""
    found = source.manifest.get("storage")
    if not found:
        return None
    stored = sum(found["bytes"].values())
    return (
        f"Teachers and paths take {size(stored)}; a checkpoint of every epoch would take "
        f"{size(found['checkpoint_bytes'])}, {found['times_smaller']:g} times as much."
    )


def shown(value: object) -> str:
    """Return a setting as its TOML file has it, nearly."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "[" + ", ".join(shown(part) for part in value) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def file(source: Source, name: str, purpose: str) -> Facts:
    """Describe a file that is handed out; its digest tells whether a copy is the same."""
    digest = hashlib.sha256((source.run.folder / name).read_bytes()).hexdigest()
    return {"name": name, "purpose": purpose, "size": size(source.run.size(name)), "sha256": digest}

"""Every setting of a run in one validated model: TOML in, resolved TOML out."""

import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from attar.errors import RecipeError, nearest
from attar.methods import method

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Momentum = Annotated[float, Field(ge=0, lt=1)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Epoch = Annotated[int, Field(ge=0)]
Window = tuple[Count, Epoch, Epoch, Epoch]
Settings = Mapping[str, Any]


class Section(BaseModel):
    """A group of settings; unknown keys are refused. recipes/default.toml holds the defaults and what each means."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Prepare(Section):
    """How columns become inputs."""

    clip: Positive
    indicators: bool


class ModelChoice(Section):
    """The network of teachers, students and evaluations."""

    name: str
    hidden: Count
    dropout: Annotated[float, Field(ge=0, lt=1)]


class Training(Section):
    """Stochastic gradient descent with momentum."""

    epochs: Count
    step_size: Positive
    momentum: Momentum


class Teachers(Training):
    """Networks trained on the real data."""

    batch: Count
    count: Count
    pilots: Annotated[int, Field(ge=0)]
    longest: Count
    prior: Literal["aligned", "none", "weighted"]
    optimiser: str
    decay: Literal["none", "linear"]
    radius: Positive
    surrogate: NonNegative
    adaptive: bool
    store: Literal["whole", "seeded", "float16"]


class PathChoice(Section):
    """What stands in for a teacher's training."""

    kind: str
    degree: Count
    anchors: Annotated[int, Field(ge=2)]
    beta: Literal["length", "projection"]
    steps: Annotated[int, Field(ge=0)]
    step_size: Positive
    draws: Count
    batch: Count
    tolerance: NonNegative


class Segments(Section):
    """Which parts of a path are matched."""

    sampler: str
    length: Annotated[float, Field(gt=0, le=1)]
    epochs: Count
    windows: Annotated[tuple[Window, ...], Field(min_length=1)]
    ramp: Annotated[float, Field(gt=0, le=1)]


class Student(Section):
    """The network that follows a segment while it is trained on the condensed set."""

    steps: Count
    step_size: Positive | Literal["search"]
    batch: Count | Literal["all", "auto"]
    gradient: Literal["first-order", "exact"]
    match: Literal["predictions", "parameters"]
    patients: Count
    moments: Count


class Inputs(Section):
    """How the condensed patients start and move."""

    start: Literal["real", "gaussian"]
    rows: Literal["legal", "free"]
    labels: Literal["hard", "learned"]
    iterations: Count
    step_size: Positive
    per_row: bool
    momentum: Momentum
    decay: Fraction
    harden: Fraction
    average: Annotated[float, Field(ge=0, lt=1)]
    label_step: Positive
    student_rate: NonNegative
    student_momentum: Momentum
    loss_limit: Positive


class Stay(Section):
    """What students must still know that train on as receivers do, after the paths were followed."""

    iterations: Annotated[int, Field(ge=0)]
    steps: Count
    least: Count
    window: Count
    step_size: Positive


class Receiving(Training):
    """Training on a small set."""

    weight_decay: NonNegative


class Selection(Receiving):
    """Which iteration is kept."""

    keep: Literal["latest", "best"]
    every: Count
    initialisations: Count


class Evaluate(Receiving):
    """Final scores on the test split."""

    tries: Annotated[tuple[Positive, ...], Field(min_length=1)]
    initialisations: Count
    draws: Count
    full_epochs: Count
    batch: Count

    @property
    def lengths(self) -> tuple[int, ...]:
        """Numbers of epochs that are tried on a small set, the shortest first."""
        return tuple(sorted({max(1, round(times * self.epochs)) for times in self.tries}))


class Recipe(Section):
    """All settings of a run."""

    method: str
    per_class: Count
    seed: Annotated[int, Field(ge=0, lt=2**32)]
    prepare: Prepare
    model: ModelChoice
    teachers: Teachers
    path: PathChoice
    segments: Segments
    student: Student
    inputs: Inputs
    stay: Stay
    selection: Selection
    evaluate: Evaluate

    @property
    def iterations(self) -> int:
        """How often the condensed patients are moved in all."""
        return self.inputs.iterations + self.stay.iterations

    def toml(self) -> str:
        """Return the resolved settings as TOML."""
        return tomli_w.dumps(self.model_dump())

    def flat(self) -> dict[str, Any]:
        """Return the settings with dotted names."""
        return dict(_flatten(self.model_dump()))


def builtin_names() -> list[str]:
    """List the recipes that come with attar: files of the folder `recipes`, one folder deep, but not their bases."""
    root = files("attar.recipes")
    folders = {"": root} | {f"{entry.name}/": entry for entry in root.iterdir() if entry.is_dir()}
    names = (prefix + entry.name for prefix, folder in folders.items() for entry in folder.iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml") and "/_" not in name)


def load(source: str | Path | Settings = "default", overrides: Settings | None = None) -> Recipe:
    """Return the settings of a run, each layer over the one before.

    The default recipe, the row of the method, the recipe asked for (built-in name, TOML file or mapping), what that
    recipe says under `methods.NAME` for this method alone, and single settings by dotted name.
    """
    default = _read("default")
    asked = dict(source) if isinstance(source, Mapping) else {} if source == "default" else _read(source)
    given = _nested(overrides or {})
    name = str(given.get("method", asked.get("method", default["method"])))
    if asked.get("method", name) != name:
        raise RecipeError(
            f"The recipe is one for the method {asked['method']!r} and has its settings, but {name!r} was asked for. "
            f"Take the line `method` out of the recipe, or ask for no other method."
        )
    by_method = asked.pop("methods", {})
    for other in by_method:
        method(other)
    settings = default
    for layer in (_nested(method(name).settings()), asked, by_method.get(name, {}), given):
        settings = _over(settings, layer)
    try:
        return Recipe.model_validate(settings)
    except ValidationError as error:
        raise RecipeError(_explain(error)) from None


def parse_overrides(pairs: Iterable[str]) -> dict[str, Any]:
    """Return the settings given as key=value, each value read as TOML, or as text where it is not TOML."""
    overrides = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise RecipeError(f"--set {pair!r} is not of the form key=value, as in --set teachers.count=20.")
        try:
            overrides[key.strip()] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            overrides[key.strip()] = text
    return overrides


def _read(source: str | Path, depth: int = 0) -> dict[str, Any]:
    builtin = files("attar.recipes") / f"{source}.toml"
    path = builtin if builtin.is_file() else Path(source)
    if not path.is_file():
        raise RecipeError(
            f"There is no recipe {str(source)!r}: neither a file nor built in.{nearest(str(source), builtin_names())}"
        )
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(f"The recipe {source} is not valid TOML: {error}.") from None
    base = settings.pop("base", None)
    if base is None:
        return settings
    if depth > 9:
        raise RecipeError(f"The recipe {source} is built on itself, or on more than ten others: see its `base`.")
    beside = Path(source).parent / str(base)
    return _over(_read(beside if beside.is_file() else str(base), depth + 1), settings)


def _over(base: dict[str, Any], top: Settings) -> dict[str, Any]:
    merged = dict(base)
    for key, value in top.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _over(merged[key], value) if both else value
    return merged


def _nest(key: str, value: Any) -> dict[str, Any]:
    head, _, rest = key.partition(".")
    return {head: _nest(rest, value) if rest else value}


def _nested(dotted: Settings) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for key, value in dotted.items():
        settings = _over(settings, _nest(key, value))
    return settings


def _flatten(settings: Settings, prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _explain(error: ValidationError) -> str:
    known = [key for key, _ in _flatten(_read("default"))]
    unknown: list[str] = []
    problems: dict[str, list[str]] = {}
    for item in error.errors(include_url=False):
        key = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            unknown.append(f"Unknown setting {key!r}.{nearest(key, known)}")
            continue
        setting = next((name for name in known if key.startswith(f"{name}.")), key)
        message = item["msg"].removeprefix("Input ")
        problems.setdefault(f"Setting {setting!r} is {item['input']!r}", []).append(message[0].lower() + message[1:])
    return " ".join(unknown + [f"{what}: {', or '.join(why)}." for what, why in problems.items()])

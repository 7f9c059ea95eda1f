"""From a file or dicts to one checked and fully resolved description of an experiment.

A config is a TOML file (or the same as nested dicts):

    dataset = "cora"
    [encoding]
    name = "llpe"
    dim = 128
    [model]
    name = "mlp"
    [training]
    lr = 0.01
    [splits]
    count = 10

Everything left out has a default; after :func:`resolve` everything is spelled out, so that the hash of a config names
its results. All problems of a config are reported at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_serializer
from torch import nn

from llpe.checks import LARGEST_SEED, MOST, check_choice, show
from llpe.data import BENCHMARKS, GIANT, load_graph, parse_spec
from llpe.data.benchmarks import benchmark_key
from llpe.data.synthetic import GENERATORS
from llpe.device import check_autocast, find_device
from llpe.encodings import ENCODINGS, INSTEAD, Encoding, make_encoding
from llpe.models import VARIANTS, Classifier, backbone_options, make_backbone
from llpe.models.classifier import PLACES

# How long rows of an encoding are beside those of the features, which are projected here and so become smaller: an MLP
# knows nothing else of the graph; a model that sees neighbours is disturbed by more.
SHARE_OF_MLP, SHARE = 1.0, 0.3
Count = Annotated[int, Field(ge=1, le=MOST)]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class EncodingConfig(Section):
    """``name``, ``dim`` and the options of that encoding's class."""

    model_config = ConfigDict(extra="allow")
    name: str = "llpe"
    dim: int = 128


class ModelConfig(Section):
    """``name`` of a backbone, width of the features, and the backbone's options."""

    model_config = ConfigDict(extra="allow")
    name: str = "mlp"
    hidden: Count = 64
    layers: Count | None = None
    dropout: float = Field(0.5, ge=0, lt=1)
    input_dropout: float = Field(0.5, ge=0, lt=1)
    variant: Literal["plain", "strong"] = "plain"


class TrainingConfig(Section):
    """How to train; split i starts from seed + i.

    ``features`` is how features are scaled, see :func:`llpe.data.scaled_features`.
    ``batch`` is the number of rows of a step, for models that see single rows (mlp): by default all, or 8192 where
    there are more than 100 000 training rows. An epoch is one pass over all of them.
    ``device`` is where: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, …, ``mps``. It is not part of a config's hash
    and not written to files: a run that was started on one device continues on another.
    ``autocast``, ``bfloat16``, computes products of matrices in numbers of 16 bits while training.
    """

    features: Literal["auto", "rows", "columns", "raw"] = "auto"
    optimizer: Literal["adam", "sgd"] = "adam"
    lr: float = Field(0.01, gt=0)
    momentum: float = Field(0.9, ge=0, lt=1)
    weight_decay: float = Field(2e-3, ge=0)
    epochs: Count = 1000
    patience: Count = 200
    batch: Count | None = None
    seed: Seed = 0
    device: str = Field("cpu", exclude=True)
    autocast: Literal["bfloat16"] | None = None

    @model_serializer(mode="wrap")
    def _written(self, write: Any) -> dict[str, Any]:
        """Leaves out autocast where it is off, so that the hashes of older configs stay the same."""
        return {key: value for key, value in write(self).items() if key != "autocast" or value is not None}


class SplitsConfig(Section):
    """``kind``: ``random`` (the paper's 60/20/20), ``official``, or the path of a split file."""

    kind: str = "random"
    count: Count = 10
    seed: Seed = 0


class Config(Section):
    """A whole experiment. ``data`` is the fingerprint of the graph, filled in when it is loaded."""

    dataset: str = Field(min_length=1)
    data: str | None = None
    encoding: EncodingConfig = EncodingConfig()
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    splits: SplitsConfig = SplitsConfig()

    @property
    def hash(self) -> str:
        """Eight hexadecimal digits that name this config."""
        return hashlib.sha256(json.dumps(self.model_dump(), sort_keys=True).encode()).hexdigest()[:8]

    def make_encoding(self) -> Encoding:
        return make_encoding(**self.encoding.model_dump())

    def make_classifier(
        self, num_features: int, num_classes: int, *, encoding: Encoding | None = None, model: nn.Module | None = None
    ) -> Classifier:
        """The classifier of this config, with the given modules in place of those that it names."""
        options = self.model.model_dump(include=None if model is None else {"hidden", "input_dropout"})
        return Classifier(
            self.make_encoding() if encoding is None else encoding,
            in_features=num_features,
            num_classes=num_classes,
            model=options.pop("name") if model is None else model,
            **options,
        )


SECTIONS: dict[str, type[Section]] = {
    "encoding": EncodingConfig,
    "model": ModelConfig,
    "training": TrainingConfig,
    "splits": SplitsConfig,
}


def dump_toml(config: Config) -> str:
    """The config as TOML; values that are None are left out, as TOML has no null."""
    return tomli_w.dumps(config.model_dump(exclude_none=True))


class ConfigError(ValueError):
    """Everything that is wrong with a config, one line each."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


def resolve(raw: dict[str, Any], *, find_dataset: bool = True) -> Config:
    """Checks a config and fills in every default.

    Args:
        raw: nested dicts, as in a config file.
        find_dataset: refuse a data set that does not exist; False where it is loaded already or not needed.

    Example:
        >>> config = resolve({"dataset": "sbm:n=100", "encoding": {"name": "rwse", "dim": 8}})
        >>> config.encoding.model_dump()
        {'name': 'rwse', 'dim': 8, 'steps': 16, 'seed': 0}
    """
    return build(raw, find_dataset=find_dataset)[0]


def build(raw: dict[str, Any], *, find_dataset: bool = True) -> tuple[Config, Encoding]:
    """What :func:`resolve` returns, and the encoding, which is made to check its options and can be trained."""
    if not isinstance(raw, dict):
        raise ConfigError([f"`config` must be nested dicts, as in a config file, got {show(raw)}."])
    raw = _plain(raw)
    problems: list[str] = []
    config = encoding = None
    try:
        config = Config.model_validate(raw)
    except ValidationError as error:
        problems += [_in_words(problem, raw) for problem in error.errors()]
    own, model = (raw[name] if isinstance(raw.get(name), dict) else {} for name in ("encoding", "model"))
    with _noting(problems, "encoding"):
        encoding = _make_encoding(own, model.get("name"))
    with _noting(problems, "model"):
        _check_model(model, encoding)
    with _noting(problems, "training"):
        if config is not None:
            check_autocast(find_device(config.training.device), config.training.autocast)
    with _noting(problems, "dataset"):
        if find_dataset and isinstance(raw.get("dataset"), str):
            _check_dataset(raw["dataset"].removeprefix(GIANT))
    if problems or config is None or encoding is None:
        raise ConfigError(list(dict.fromkeys(problems)))
    options = {name: getattr(encoding, name) for name in ENCODINGS[config.encoding.name].options}
    if config.encoding.name == "none":
        options = {"dim": config.encoding.dim}
    plain_mlp = config.model.name == "mlp" and config.model.variant == "plain"
    layers = config.model.layers or (1 if plain_mlp else VARIANTS[config.model.variant])
    sections = {
        "encoding": EncodingConfig(name=config.encoding.name, **options),
        "model": config.model.model_copy(update={"layers": layers}),
    }
    return config.model_copy(update=sections), encoding


def load_config(path: str | Path) -> dict[str, Any]:
    """The nested dicts of a TOML file, not yet checked."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError([f"{path} must be a TOML file: {error}."]) from None


def assign(raw: dict[str, Any], assignments: dict[str, Any]) -> dict[str, Any]:
    """The config with ``section.key`` or plain ``key`` entries set; a plain key must belong to one section only.

    Example:
        >>> assign({"dataset": "cora"}, {"lr": 0.05, "encoding.order": 32})
        {'dataset': 'cora', 'training': {'lr': 0.05}, 'encoding': {'order': 32}}
    """
    out: dict[str, Any] = {name: dict(value) if isinstance(value, dict) else value for name, value in raw.items()}
    problems = []
    for key, value in assignments.items():
        section, dot, name = key.partition(".")
        if not dot:
            known = {home: _options_of(home, out) for home in SECTIONS}
            homes = [home for home in known if key != "name" and key in known[home]]
            if not homes and any(key == option for option, _ in INSTEAD):
                homes = ["encoding"]  # which says what to use instead
            if len(homes) != 1:
                every = ", ".join(f"{home}.{each}" for home in known for each in known[home])
                choices = " or ".join(f"{home}.{key}" for home in homes) or f"one of {every}"
                problems.append(f"`{key}` must be {choices}, got a name that is {'ambiguous' if homes else 'unknown'}.")
                continue
            section, name = homes[0], key
        elif section not in SECTIONS:
            problems.append(f"`{key}` must begin with one of {', '.join(SECTIONS)}, got {section!r}.")
            continue
        out.setdefault(section, {})[name] = value
    if problems:
        raise ConfigError(problems)
    return out


def _options_of(section: str, raw: dict[str, Any]) -> list[str]:
    """The keys a section may have, given the encoding or model that is named in it."""
    known = list(SECTIONS[section].model_fields)
    name = raw[section].get("name") if isinstance(raw.get(section), dict) else None
    if section == "encoding":
        known += ENCODINGS.get(name or "llpe", ENCODINGS["llpe"]).options
    if section == "model":
        with contextlib.suppress(ValueError):
            known += list(backbone_options(name or "mlp"))
    return list(dict.fromkeys(known))


@contextlib.contextmanager
def _noting(problems: list[str], section: str) -> Iterator[None]:
    """Inside, an error becomes one of the problems."""
    try:
        yield
    except (ValueError, TypeError, OSError) as error:
        problems.append(f"{section}: {error}")


def _make_encoding(raw: dict[str, Any], model: Any) -> Encoding:
    name = raw.get("name", EncodingConfig().name)
    options: dict[str, Any] = {"dim": EncodingConfig().dim}
    if isinstance(name, str) and name in ENCODINGS and "share" in ENCODINGS[name].options and raw.get("size") is None:
        options["share"] = SHARE_OF_MLP if not isinstance(model, str) or model == "mlp" else SHARE
    return make_encoding(name, **options | {key: value for key, value in raw.items() if key != "name"})


def _check_model(raw: dict[str, Any], encoding: Encoding | None) -> None:
    name, hidden = raw.get("name", ModelConfig().name), raw.get("hidden", ModelConfig().hidden)
    own = ("name", "hidden", "input_dropout", "where")
    options = {key: value for key, value in raw.items() if key not in own}
    check_choice("where", raw.get("where", PLACES[0]), PLACES)
    known = backbone_options(name)
    unknown = [key for key in options if key not in known]
    if name[:1].islower() and unknown:
        every = ", ".join([*own, *known])
        raise ValueError(f"options of {name!r} must be among {every}, got {', '.join(unknown)}.")
    if encoding is not None and isinstance(hidden, int):
        make_backbone(name, width=hidden + encoding.dim, **{"feedforward": hidden} | options)


def _check_dataset(spec: str) -> None:
    kind, colon, _ = spec.partition(":")
    if benchmark_key(spec) in BENCHMARKS or Path(spec).expanduser().exists():
        return
    if colon and kind in GENERATORS:
        parse_spec(spec)
    else:
        load_graph(spec)  # says what is wrong with it


def _in_words(problem: Any, raw: dict[str, Any]) -> str:
    where = ".".join(map(str, problem["loc"]))
    if problem["type"] == "extra_forbidden":
        section = str(problem["loc"][0])
        known = _options_of(section, raw) if section in SECTIONS else ["dataset", *SECTIONS]
        return f"`{where}` must be one of {', '.join(known)}, got an unknown key."
    if problem["type"] == "missing":
        return f"`{where}` must be given."
    rule = problem["msg"].removeprefix("Input should be ")
    return f"`{where}` must be {rule}, got {show(problem.get('input'))}."


def _plain(value: Any) -> Any:
    """The same with Python's numbers in place of NumPy's."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return value.item() if isinstance(value, np.generic) else value

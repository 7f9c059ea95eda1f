"""What an experiment is, as one checked and fully resolved description.

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
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_serializer

from llpe.checks import LARGEST_SEED, MOST, show
from llpe.data import BENCHMARKS, GIANT, load_graph, parse_spec
from llpe.data.catalogue import benchmark_key
from llpe.data.synthetic import GENERATORS
from llpe.device import check_autocast, find_device
from llpe.encodings import ENCODINGS, INSTEAD, Encoding, make_encoding
from llpe.models import VARIANTS, Classifier, backbone_options

# How long rows of an encoding are beside those of the features, which are projected here and so become smaller: an MLP
# knows nothing else of the graph; a model that sees neighbours is disturbed by more.
SHARE_OF_MLP, SHARE = 1.0, 0.3


class ConfigError(ValueError):
    """Everything that is wrong with a config, one line each."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


Count = Annotated[int, Field(ge=1, le=MOST)]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class EncodingConfig(_Section):
    """``name``, ``dim`` and the options of that encoding's class."""

    model_config = ConfigDict(extra="allow")
    name: str = "llpe"
    dim: int = 128


class ModelConfig(_Section):
    """``name`` of a backbone, width of the features, and the backbone's options."""

    model_config = ConfigDict(extra="allow")
    name: str = "mlp"
    hidden: Count = 64
    layers: Count | None = None
    dropout: float = Field(0.5, ge=0, lt=1)
    input_dropout: float = Field(0.5, ge=0, lt=1)
    variant: Literal["plain", "strong"] = "plain"


class TrainingConfig(_Section):
    """How to train; split i starts from seed + i.

    ``features`` is how features are scaled, see :func:`llpe.data.scaled_features`.
    ``batch`` is the number of rows of a step, for models that see single rows (mlp): by default all, or 8192 where
    there are more than 100 000 training rows. An epoch is one pass over all of them.
    ``device`` is where: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, …, ``mps``. It is no part of a config's hash, nor of
    what is written: a run started on one device continues on another.
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
        """Without autocast where it is off: the hash is that of a config that does not know it."""
        return {key: value for key, value in write(self).items() if key != "autocast" or value is not None}


class SplitsConfig(_Section):
    """``kind``: ``random`` (the paper's 60/20/20), ``official``, or the path of a split file."""

    kind: str = "random"
    count: Count = 10
    seed: Seed = 0


class Config(_Section):
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
        options = self.encoding.model_dump(exclude={"name"})
        return make_encoding(self.encoding.name, **options)

    def make_classifier(self, num_features: int, num_classes: int) -> Classifier:
        options = self.model.model_dump(exclude={"name"})
        return Classifier(
            self.make_encoding(), in_features=num_features, num_classes=num_classes, model=self.model.name, **options
        )


SECTIONS: dict[str, type[_Section]] = {
    "encoding": EncodingConfig,
    "model": ModelConfig,
    "training": TrainingConfig,
    "splits": SplitsConfig,
}


def resolve(raw: dict[str, Any], *, find_dataset: bool = True) -> Config:
    """Checks a config and fills in every default.

    Args:
        raw: nested dicts, as in a config file.
        find_dataset: refuse a data set that is not there; not so where it is loaded already, or not needed.

    Example:
        >>> config = resolve({"dataset": "sbm:n=100", "encoding": {"name": "rwse", "dim": 8}})
        >>> config.encoding.model_dump()
        {'name': 'rwse', 'dim': 8, 'steps': 16, 'seed': 0}
    """
    if not isinstance(raw, dict):
        raise ConfigError([f"`config` must be nested dicts, as in a config file, got {show(raw)}."])
    raw = _plain(raw)
    problems: list[str] = []
    config = None
    try:
        config = Config.model_validate(raw)
    except ValidationError as error:
        problems += [_in_words(problem, raw) for problem in error.errors()]
    model = raw.get("model", {})
    encoding = _check_encoding(
        raw.get("encoding", {}), model.get("name") if isinstance(model, dict) else None, problems
    )
    _check_model(raw.get("model", {}), encoding, problems)
    if config is not None:
        try:
            check_autocast(find_device(config.training.device), config.training.autocast)
        except ValueError as error:
            problems.append(f"training: {error}")
    if find_dataset and isinstance(raw.get("dataset"), str):
        _check_dataset(raw["dataset"], problems)
    if problems or config is None or encoding is None:
        raise ConfigError(list(dict.fromkeys(problems)))
    names = ENCODINGS[config.encoding.name].options
    options = {"name": config.encoding.name} | {name: getattr(encoding, name) for name in names}
    if config.encoding.name == "none":
        options = {"name": "none", "dim": config.encoding.dim}
    plain_mlp = config.model.name == "mlp" and config.model.variant == "plain"
    layers = config.model.layers or (1 if plain_mlp else VARIANTS[config.model.variant])
    update = {
        "encoding": EncodingConfig(**options),
        "model": config.model.model_copy(update={"layers": layers}),
    }
    return config.model_copy(update=update)


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
            homes = _homes(key, out)
            if len(homes) != 1:
                choices = " or ".join(f"{home}.{key}" for home in homes) or f"one of {', '.join(_keys(out))}"
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


def dump_toml(config: Config) -> str:
    """The config as TOML; values that are None are left out, as TOML has no word for them."""
    return tomli_w.dumps(config.model_dump(exclude_none=True))


def differences(one: Config, two: Config) -> list[str]:
    """The keys in which two configs differ, with both values."""
    flat = [_flatten(config.model_dump()) for config in (one, two)]
    keys = sorted(flat[0].keys() | flat[1].keys())
    return [
        f"{key}: {flat[0].get(key)!r} / {flat[1].get(key)!r}" for key in keys if flat[0].get(key) != flat[1].get(key)
    ]


def _flatten(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in tree.items():
        out |= _flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
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


def _homes(key: str, raw: dict[str, Any]) -> list[str]:
    homes = [section for section in SECTIONS if key != "name" and key in _options_of(section, raw)]
    return homes or ["encoding"] * any(key == option for option, _ in INSTEAD)  # which says what to use instead


def _keys(raw: dict[str, Any]) -> list[str]:
    return [f"{section}.{key}" for section in SECTIONS for key in _options_of(section, raw)]


def _check_encoding(raw: Any, model: Any, problems: list[str]) -> Encoding | None:
    if not isinstance(raw, dict):
        return None
    name = raw.get("name", EncodingConfig().name)
    options: dict[str, Any] = {"dim": EncodingConfig().dim}
    if isinstance(name, str) and name in ENCODINGS and "share" in ENCODINGS[name].options and raw.get("size") is None:
        options["share"] = SHARE_OF_MLP if not isinstance(model, str) or model == "mlp" else SHARE
    try:
        return make_encoding(name, **options | {key: value for key, value in raw.items() if key != "name"})
    except (ValueError, TypeError) as error:
        problems.append(f"encoding: {error}")
        return None


def _check_model(raw: Any, encoding: Encoding | None, problems: list[str]) -> None:
    if not isinstance(raw, dict):
        return
    options = {key: value for key, value in raw.items() if key != "name"}
    name = raw.get("name", ModelConfig().name)
    try:
        known = ["name", "hidden", "input_dropout", *backbone_options(name)]
        unknown = [key for key in options if key not in known]
        if isinstance(name, str) and name[:1].islower() and unknown:
            problems.append(f"model: options of {name!r} must be among {', '.join(known)}, got {', '.join(unknown)}.")
        elif encoding is not None:
            Classifier(encoding, in_features=1, num_classes=2, model=name, **options)
    except (ValueError, TypeError) as error:
        problems.append(f"model: {error}")


def _check_dataset(spec: str, problems: list[str]) -> None:
    spec = spec.removeprefix(GIANT)
    kind, colon, _ = spec.partition(":")
    try:
        if benchmark_key(spec) in BENCHMARKS or Path(spec).expanduser().exists():
            return
        if colon and kind in GENERATORS:
            parse_spec(spec)
        else:
            load_graph(spec)  # says what is wrong with it
    except (ValueError, OSError) as error:
        problems.append(f"dataset: {error}")


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

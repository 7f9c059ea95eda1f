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
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from llpe.checks import check_choice, show
from llpe.data import BENCHMARKS, GIANT, load_graph, parse_spec
from llpe.data.benchmarks import benchmark_key
from llpe.data.synthetic import GENERATORS
from llpe.device import check_autocast, find_device
from llpe.encodings import ENCODINGS, INSTEAD, Encoding, make_encoding
from llpe.lab.sections import SECTIONS, Config, EncodingConfig, ModelConfig
from llpe.models import VARIANTS, backbone_options, make_backbone
from llpe.models.classifier import PLACES

# How long rows of an encoding are beside those of the features, which are projected here and so become smaller: an MLP
# knows nothing else of the graph; a model that sees neighbours is disturbed by more.
SHARE_OF_MLP, SHARE = 1.0, 0.3


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
    """What :func:`resolve` returns, and the encoding, which says what is wrong with its options when it is built."""
    if not isinstance(raw, dict):
        raise ConfigError([f"`config` must be nested dicts, as in a config file, got {show(raw)}."])
    raw = _plain(raw)
    problems: list[str] = []
    config = None
    try:
        config = Config.model_validate(raw)
    except ValidationError as error:
        problems += [_in_words(problem, raw) for problem in error.errors()]
    own, model = (raw[name] if isinstance(raw.get(name), dict) else {} for name in ("encoding", "model"))
    encoding = _build_encoding(own, model.get("name"), problems)
    _check_model(model, encoding, problems)
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
    return config.model_copy(update=update), encoding


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


def _build_encoding(raw: dict[str, Any], model: Any, problems: list[str]) -> Encoding | None:
    name = raw.get("name", EncodingConfig().name)
    options: dict[str, Any] = {"dim": EncodingConfig().dim}
    if isinstance(name, str) and name in ENCODINGS and "share" in ENCODINGS[name].options and raw.get("size") is None:
        options["share"] = SHARE_OF_MLP if not isinstance(model, str) or model == "mlp" else SHARE
    try:
        return make_encoding(name, **options | {key: value for key, value in raw.items() if key != "name"})
    except (ValueError, TypeError) as error:
        problems.append(f"encoding: {error}")
        return None


def _check_model(raw: dict[str, Any], encoding: Encoding | None, problems: list[str]) -> None:
    name, hidden = raw.get("name", ModelConfig().name), raw.get("hidden", ModelConfig().hidden)
    own = ("name", "hidden", "input_dropout", "where")
    options = {key: value for key, value in raw.items() if key not in own}
    try:
        check_choice("where", raw.get("where", PLACES[0]), PLACES)
        known = backbone_options(name)
        unknown = [key for key in options if key not in known]
        if name[:1].islower() and unknown:
            every = ", ".join([*own, *known])
            problems.append(f"model: options of {name!r} must be among {every}, got {', '.join(unknown)}.")
        elif encoding is not None and isinstance(hidden, int):
            make_backbone(name, width=hidden + encoding.dim, **{"feedforward": hidden} | options)
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

"""What a config holds: sections, their keys, defaults and limits."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, model_serializer
from torch import nn

from llpe.checks import LARGEST_SEED, MOST
from llpe.encodings import Encoding, make_encoding
from llpe.models import Classifier
from llpe.runs import flat

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


class SplitsConfig(_Section):
    """``kind``: ``random`` (the paper's 60/20/20), ``official``, or the path of a split file."""

    kind: str = "random"
    count: Count = 10
    seed: Seed = 0


class SearchConfig(_Section):
    """The section ``[search]`` of a config.

    Attributes:
        method: ``tpe`` (the tree-structured Parzen estimator), ``grid``, or ``stratified``: every choice equally
            often, and each pair of learning rate and optimiser, see :mod:`llpe.lab.stratified`.
        trials: how many different settings to try; a grid without it is tried whole.
        pruner: at each step ``halving`` keeps the best third of a wave, ``median`` the better half, ``none`` all.
        preset: the space, ``paper``, ``authors``, ``extended`` or ``own``, see :mod:`llpe.lab.spaces`.
        space: choices that replace those of the preset, or add to them.
        storage: URL of an Optuna storage that is given a copy of the finished trials, to look at them with its tools.
        seed: of the draws.
    """

    method: Literal["tpe", "grid", "stratified"] = "tpe"
    trials: int | None = Field(None, ge=1)
    pruner: Literal["halving", "median", "none"] = "halving"
    preset: Literal["paper", "authors", "extended", "own"] = "paper"
    space: dict[str, list[Any]] = {}
    storage: str | None = None
    seed: int = Field(0, ge=0)


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


SECTIONS: dict[str, type[_Section]] = {
    "encoding": EncodingConfig,
    "model": ModelConfig,
    "training": TrainingConfig,
    "splits": SplitsConfig,
}


def dump_toml(config: Config) -> str:
    """The config as TOML; values that are None are left out, as TOML has no null."""
    return tomli_w.dumps(config.model_dump(exclude_none=True))


def differences(one: Config, two: Config) -> list[str]:
    """The keys in which two configs differ, with both values."""
    first, second = (flat(config.model_dump()) for config in (one, two))
    keys = sorted(first.keys() | second.keys())
    return [f"{key}: {first.get(key)!r} / {second.get(key)!r}" for key in keys if first.get(key) != second.get(key)]

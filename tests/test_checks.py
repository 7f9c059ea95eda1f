"""Every public function and class refuses, in words, arguments that are not what its signature says."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import llpe
from llpe import Graph, SpectrumError, data, make_encoding, tiny
from llpe.checks import check_choice, check_count, check_number, refusal, show
from llpe.encodings import ENCODINGS
from llpe.lab.config import Config, ConfigError, resolve
from llpe.models import Classifier, backbone_options, make_backbone
from llpe.summary import summarise

WRONG: dict[str, list[Any]] = {
    "int": ["x", "", True, None, [1], {}, math.nan, math.inf, 2.5, -1, 10**30, 10**400, np.array([1, 2]), object()],
    "float": ["x", "", True, None, [1], {}, math.nan, math.inf, 10**400, np.array([1.0, 2.0]), 1j],
    "bool": ["x", "", None, 0, 1, [True], np.array([True, False])],
    "str": [0, None, True, ["x"], b"x", np.array(["x"])],
    "str | Path": [0, True, ["x"], b"x", "\0"],
    "Tensor": ["x", None, 0, [1], np.array([1])],
    "NodeDataset": ["x", None, 0],
    "Data": ["x", None, 0],
    "GraphLike": ["x", None, 0, [1], np.eye(3), torch.eye(3)],
    "bool | Cache": ["x", None, 0, 1],
}
GRAPH, LABELS = tiny("path"), torch.tensor([0, 0, 1, 1, 1])
FEATURED = tiny("path")
FEATURED.x = torch.ones(5, 2)
DATASET = data.load_graph("sbm:n=40")
ENCODING = make_encoding("rwse", dim=2, steps=2)


def calls() -> Iterator[Any]:
    """Callables with arguments that are right."""
    for name, named in ENCODINGS.items():
        yield pytest.param(named.kind, {**named.decided, "dim": 4}, id=name)
    graph = {"graph": GRAPH}
    yield llpe.laplacian_eigenvectors, {**graph, "k": 2}
    yield llpe.random_walk_return, {**graph, "steps": 2}
    yield llpe.filtered_probes, {**graph, "dim": 4}
    yield llpe.probe_features, {**graph, "order": 2, "probes": 2}
    yield llpe.full_spectrum, {"data": GRAPH}
    yield llpe.end_spectrum, {"data": GRAPH, "first": 2}
    yield llpe.Prepare, {"encoding": ENCODING}
    yield llpe.AddLaplacianEigenvectorPE, {"k": 2}
    yield llpe.AddRandomWalkPE, {"walk_length": 2}
    yield llpe.AddGraphGPSStatistics, {"k": 2, "steps": 2}
    for measure in (llpe.class_homophily, llpe.edge_homophily, llpe.node_homophily, llpe.local_homophily):
        yield measure, {"edge_index": GRAPH.edge_index, "y": LABELS}
    yield data.sbm, {"n": 20, "degree": 2.0}
    yield data.preferential_attachment, {"n": 20, "m": 2}
    yield data.parse_spec, {"spec": "sbm:n=20"}
    yield data.random_splits, {"y": DATASET.data.y, "count": 1}
    yield data.make_splits, {"dataset": DATASET, "count": 1}
    yield data.load_graph, {"spec": "sbm:n=20"}
    yield data.load_file, {"path": "graph.npz"}
    yield data.find_benchmark, {"name": "cora"}
    yield data.giant_component, {"dataset": DATASET}
    yield data.scaled_features, {"x": DATASET.data.x, "how": "auto"}
    yield data.undirected, {"data": GRAPH}
    yield summarise, {"dataset": DATASET, "order": 2, "probes": 2}
    yield Classifier, {"encoding": ENCODING, "in_features": 2, "num_classes": 2, "hidden": 4}


def use(made: Any) -> None:
    """What a user does next, with a fixed part of five rows."""
    if isinstance(made, llpe.Encoding):
        made(made.prepare(FEATURED, cache=False))
    elif isinstance(made, llpe.Prepare | llpe.AddLaplacianEigenvectorPE | llpe.AddGraphGPSStatistics):
        made(GRAPH.clone())


def kind_of(parameter: inspect.Parameter) -> tuple[str, bool]:
    text = str(parameter.annotation)
    return text.removesuffix(" | None"), text.endswith(" | None")


def problems(cases: list[tuple[str, Any]], call: Callable[[str, Any], Any]) -> list[str]:
    """The cases in which a wrong argument is not refused by its name."""
    found = []
    for name, value in cases:
        names = "(graph|data)" if name == "graph" else name
        try:
            call(name, value)
            found.append(f"{name}={show(value)} is taken")
        except Exception as error:
            if not isinstance(error, ValueError) or not re.search(rf"`([a-z]+\.)?{names}` must .*, got ", str(error)):
                found.append(f"{name}={show(value)}: {error!r}")
    return found


@pytest.mark.parametrize(("function", "right"), list(calls()))
def test_arguments_of_a_wrong_kind_are_refused_by_name(function: Callable[..., Any], right: dict[str, Any]) -> None:
    kinds = {name: kind_of(each) for name, each in inspect.signature(function).parameters.items()}
    cases = [(name, value) for name, (kind, optional) in kinds.items() for value in WRONG.get(kind, [])]
    cases = [(name, value) for name, value in cases if value is not None or not kinds[name][1]]
    assert cases
    assert not problems(cases, lambda name, value: use(function(**{**right, name: value})))


@pytest.mark.parametrize("name", ENCODINGS)
def test_numpy_numbers_are_taken_as_numbers(name: str) -> None:
    options = {"dim": 4, "seed": 1} | ({"size": 0.5} if "size" in ENCODINGS[name].options else {})
    as_numpy = {key: np.array(value)[()] for key, value in options.items()}
    assert repr(make_encoding(name, **as_numpy)) == repr(make_encoding(name, **options))
    use(make_encoding(name, **as_numpy))


@pytest.mark.parametrize("options", [{"dim": 2**30, "k": 2**30}, {"dim": 2**31}], ids=str)
def test_sizes_that_do_not_fit_are_refused(options: dict[str, int]) -> None:
    with pytest.raises((ValueError, SpectrumError), match=r"parameters needs about .* GB|at most 2147483647"):
        make_encoding("lpe-fk", **options)


@pytest.mark.parametrize("model", ["mlp", "sage", "gcn", "gt", "GAT"])
def test_options_of_a_backbone_are_refused_by_name(model: str) -> None:
    kinds = {name: type(default).__name__ for name, default in backbone_options(model).items()}
    cases = [(name, value) for name, kind in kinds.items() for value in WRONG.get(kind, WRONG["int"])]
    cases = [(name, value) for name, value in cases if value is not None or kinds[name] != "NoneType"]
    assert not problems(cases, lambda name, value: make_backbone(model, width=8, **{name: value}))


RIGHT: dict[str, Any] = {"dataset": "sbm:n=60", "encoding": {"name": "none"}}


@pytest.mark.parametrize("section", ["model", "training", "splits"])
def test_a_config_refuses_wrong_kinds(section: str) -> None:
    fields = type(getattr(resolve(RIGHT), section)).model_fields
    kinds = {name: str(field.annotation) for name, field in fields.items()}
    cases = []
    for name, kind in kinds.items():
        values = next(
            (WRONG.get(word) for word in ("int", "float", "str") if word in kind.replace("Literal", "")),
            ["x", 0, None, ["x"]],
        )
        cases += [(name, value) for value in values if value is not None or fields[name].default is not None]
    assert not problems(cases, lambda name, value: resolve({**RIGHT, section: {name: value}}))


@pytest.mark.parametrize("raw", [None, "x", [], {"dataset": ""}, {"dataset": 3}, RIGHT | {"encoding": {"name": ["x"]}}])
def test_a_config_that_is_none_is_refused(raw: Any) -> None:
    with pytest.raises(ConfigError, match=r"must .*got"):
        resolve(raw)


def test_a_config_takes_numpy_numbers() -> None:
    config: Config = resolve({**RIGHT, "training": {"lr": np.float64(0.5), "epochs": np.int64(3)}})
    assert config == resolve({**RIGHT, "training": {"lr": 0.5, "epochs": 3}})


def test_checks_return_what_they_checked() -> None:
    assert check_count("k", np.int32(3)) == 3
    assert check_number("lr", np.float32(0.5), least=0.5) == 0.5
    check_choice("kind", "sym", ("sym", "rw"))
    with pytest.raises(ValueError, match="`kind` must be one of 'sym', 'rw', got array"):
        check_choice("kind", np.array(["sym"]), ("sym", "rw"))
    assert len(str(refusal("x", "be short", show("long" * 100)))) < 120
    assert Graph.from_data((GRAPH.edge_index, np.int64(5))).num_nodes == 5  # type: ignore[arg-type]

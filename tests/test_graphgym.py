"""LLPE as a node encoder of real GraphGym models, from a config file."""

import importlib.util
import sys
import warnings
from argparse import Namespace

import pytest
import torch
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader

from llpe.cache import CacheWarning
from llpe.encodings import LLPE, make_encoding
from llpe.graph import GraphWarning, tiny
from llpe.transforms import Prepare

for _needed in ("yacs", "pytorch_lightning"):
    if importlib.util.find_spec(_needed) is None:
        pytest.skip(f"{_needed} is not installed: pip install 'llpe[graphgym]'", allow_module_level=True)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what GraphGym and Lightning say when they are imported is not ours
    import pytorch_lightning as pl
    from torch_geometric.graphgym import register
    from torch_geometric.graphgym.config import cfg, dump_cfg, load_cfg, set_cfg
    from torch_geometric.graphgym.model_builder import GraphGymModule, create_model
    from torch_geometric.graphgym.utils.comp_budget import params_count

    import llpe.graphgym
    from llpe.graphgym import LLPENodeEncoder

CONFIG = """
accelerator: cpu
dataset:
  task: {task}
  task_type: classification
  node_encoder: true
  node_encoder_name: LLPE
  node_encoder_bn: {norm}
llpe:
  name: {name}
  order: 8
gnn:
  dim_inner: 12
  layers_mp: 1
optim:
  base_lr: 0.02
"""


@pytest.fixture(autouse=True)
def _fresh_config():
    """GraphGym's config is global: every test starts from its defaults, and leaves them behind."""
    set_cfg(cfg)
    yield
    set_cfg(cfg)


def use_config(folder, *options, task="node", name="llpe", norm=True):
    """What GraphGym's main script does with a config file, and what its create_loader() learns from the data."""
    file = folder / "config.yaml"
    file.write_text(CONFIG.format(task=task, name=name, norm=str(norm).lower()))
    load_cfg(cfg, Namespace(cfg_file=str(file), opts=list(options)))
    cfg.share.dim_in, cfg.share.dim_out = 2, 3


def labelled(name):
    data = tiny(name)
    generator = torch.Generator().manual_seed(len(name))
    data.x = torch.randn(data.num_nodes, 2, generator=generator)
    data.y = torch.arange(data.num_nodes) % 3
    data.train_mask = data.val_mask = data.test_mask = torch.ones(data.num_nodes, dtype=torch.bool)
    return data


def run_again(name):
    """Runs the module's file as another module would."""
    spec = importlib.util.spec_from_file_location(name, llpe.graphgym.__file__)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_importing_it_after_graphgym_registers_the_encoder_and_its_options(monkeypatch):
    """GraphGym's main script imports custom modules and loads the config, without another set_cfg()."""
    assert register.node_encoder_dict["LLPE"] is LLPENodeEncoder
    assert repr(LLPENodeEncoder(16).encoding) == repr(LLPE(8))  # its defaults
    for table in (register.config_dict, register.node_encoder_dict):
        for name in ("llpe", "LLPE"):
            monkeypatch.delitem(table, name, raising=False)
    monkeypatch.delitem(cfg, "llpe")
    run_again("llpe_graphgym_again")
    assert cfg.llpe.name == "llpe"


def test_without_yacs_the_import_says_what_to_install(monkeypatch):
    monkeypatch.setattr(sys.modules["torch_geometric.graphgym.config"], "cfg", None)  # as PyG does without yacs
    with pytest.raises(ImportError, match=r"`llpe\.graphgym` must have .*pip install 'llpe\[graphgym\]'"):
        run_again("llpe_graphgym_without_yacs")


FORMS = {
    "llpe": {"start": "heat"},
    "llpe-ends": {"k": 3, "scaling": "minmax"},
    "llpe-minmax": {},
    "llpe-probes": {"probes": 3},
}


def command_line(options):
    return [part for name, value in options.items() for part in (f"llpe.{name}", value)]


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("prepared", [True, False], ids=["prepared", "unprepared"])
def test_a_model_from_a_config_trains(name, prepared, tmp_path):
    use_config(tmp_path, *command_line(FORMS[name]), name=name)
    torch.manual_seed(0)
    model = create_model()
    assert isinstance(model, GraphGymModule)
    encoding = model.encoder.node_encoder.encoding
    twin = make_encoding(name, dim=6, order=8, **FORMS[name])
    assert repr(encoding) == repr(twin)
    data = labelled("grid")
    if prepared:
        data = Prepare(twin)(data)
        encoding.prepare = None  # must not be called
    (optimizer,), _ = model.configure_optimizers()
    losses, thetas = [], []
    for _ in range(40):
        optimizer.zero_grad()
        loss = model.training_step(Batch.from_data_list([data]))["loss"]
        loss.backward()
        losses.append(loss.item())
        thetas.append(encoding.theta.detach().clone())
        optimizer.step()
    assert losses[-1] < 0.7 * losses[0]
    assert not torch.equal(thetas[0], thetas[-1])


def test_lightning_trains_a_graph_level_model(tmp_path):
    use_config(tmp_path, task="graph", name="llpe-probes")
    cfg.llpe.probes = 6
    torch.manual_seed(0)
    graphs = []
    for name, label in (("path", 0), ("ring", 1), ("two-triangles", 2), ("star", 0)):
        graphs.append(labelled(name))
        graphs[-1].y = torch.tensor([label])
    model = create_model()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    off = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    trainer = pl.Trainer(max_epochs=2, accelerator="cpu", default_root_dir=str(tmp_path), **off)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Lightning's on workers and deprecations, but none of ours
        warnings.filterwarnings("error", category=GraphWarning)
        warnings.filterwarnings("error", category=CacheWarning)
        trainer.fit(model, train_dataloaders=DataLoader(graphs, batch_size=2))
    assert trainer.global_step == 4
    moved = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert moved > {f"model.encoder.node_encoder.{name}" for name in ("encoding.theta", "project.weight")}


@pytest.mark.parametrize(("dim", "expand_x"), [(5, True), (10, False)])
def test_the_encoder_puts_the_encoding_beside_the_features(dim, expand_x, tmp_path):
    use_config(tmp_path, "llpe.dim", dim, "llpe.seed", 3)
    encoder = LLPENodeEncoder(12, expand_x=expand_x)
    data, twin = labelled("grid"), LLPE(dim, order=8, seed=3)
    features = encoder.project(data.x)
    assert torch.equal(features, data.x) != expand_x
    expected = torch.cat([features, twin(twin.prepare(labelled("grid")))], dim=1)
    assert expected.shape == (12, 12)
    torch.testing.assert_close(encoder(data).x, expected)


def test_the_parameters_are_there_before_the_first_batch(tmp_path):
    """GraphGym counts them, and Lightning may copy or load them, before any data is seen."""
    use_config(tmp_path)
    model = create_model()
    encoder = model.encoder.node_encoder
    assert params_count(encoder) == 8 * 1 + 2 * 6 + 6  # one filter for all directions, and the projection
    assert params_count(model) > params_count(encoder)
    create_model().load_state_dict(model.state_dict())


def test_a_dumped_config_can_be_loaded_again(tmp_path):
    use_config(tmp_path, "llpe.probes", 3, "out_dir", str(tmp_path), name="llpe-probes")
    before = cfg.llpe.clone()
    dump_cfg(cfg)
    set_cfg(cfg)
    assert cfg.llpe != before
    load_cfg(cfg, Namespace(cfg_file=str(tmp_path / "config.yaml"), opts=[]))
    assert cfg.llpe == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 0}, "`order` must be"),
        ({"dim": 0}, "`dim` must be an integer of at least 1, got 0"),
        ({"dim": 12}, r"`llpe\.dim` must leave room for the features in gnn\.dim_inner=12, got 12\. Make one smaller"),
        ({"name": "all"}, "`name` must be one of none, .*, got 'all'"),
        ({"source": "probes"}, "`source` must be left out, got 'probes'.* Use the encoding 'llpe-probes'"),
        ({"probes": 4}, "got probes. `probes` is an option of llpe-probes"),
        ({}, r"`batch\.x` must have 2 columns, got 7\. .*cfg\.share\.dim_in"),
    ],
)
def test_bad_options_and_features_of_another_width_are_refused_in_words(options, message, tmp_path):
    use_config(tmp_path, *command_line(options))
    data = labelled("grid")
    data.x = torch.ones(12, 7)
    with pytest.raises(ValueError, match=message):
        create_model()(data)

"""The meta device stands in for a GPU: it has shapes and no numbers, so whatever needs a number on the host fails.

An operation that mixes devices, `.item()`, `.tolist()`, `.numpy()` and boolean indexing raise on it by themselves; DGL
is made to raise.
"""

import dgl
import pytest
import torch
from torch import nn

import grpe_dgl.data
from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.training.distributed import Processes
from grpe_dgl.training.evaluation import predict_split
from grpe_dgl.training.loop import train, training_batches
from grpe_dgl.training.loss_window import LossWindow
from grpe_dgl.training.schedule import Schedule
from grpe_dgl.training.state import State, make_optimizer
from tests.training.tiny import recipe, write_dataset

META = Processes(device=torch.device("meta"))


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    kinds = ("regression", "binary", "multiclass")
    return {kind: grpe_dgl.data.load(write_dataset(folder / kind, kind)) for kind in kinds}


@pytest.fixture(autouse=True)
def dgl_stays_on_the_cpu(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a DGLGraph was made or moved")

    monkeypatch.setattr(dgl.DGLGraph, "to", refuse)
    monkeypatch.setattr(dgl, "graph", refuse)
    monkeypatch.setattr("grpe_dgl.data.batching.collate.collate", refuse)


def start(data, preset, **overrides):
    base = recipe().to_dict()
    base["model"] = {"preset": preset}
    fitted = type(recipe()).from_dict(base).override(overrides).fit_to_task(data.task)
    with torch.device("meta"):
        model = build_model(fitted.model, data.schema)
    return State(model, make_optimizer(model, fitted.training)), fitted.training


class EndOfTest(Exception):
    pass


def updates(state, data, training, count):
    """Make so many updates of the real loop on the meta device."""
    batches = training_batches(data, training)

    def after_step(loss, rate):
        if state.update == count:
            raise EndOfTest

    with pytest.raises(EndOfTest):
        list(
            train(
                state,
                data,
                training,
                batches,
                Schedule.of(training, len(batches)),
                processes=META,
                after_step=after_step,
            )
        )


@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize(
    ("preset", "kind"),
    [
        ("small", "regression"),
        ("small", "multiclass"),
        ("standard", "binary"),
        ("standard", "multiclass"),
        ("large", "binary"),
        ("large", "multiclass"),
    ],
)
def test_training_steps_need_no_number_on_the_host(datasets, preset, kind, precision):
    loss = {"training.loss": "weighted_cross_entropy"} if kind == "multiclass" else {}
    # Two graphs a step, in two groups: operations on this device are shapes computed in Python, slow one by one.
    settings = {"training.precision": precision, "training.batch_size": 2, **loss}
    state, training = start(datasets[kind], preset, **settings)
    updates(state, datasets[kind], training, 1)
    assert state.update == 1 and state.losses.last is None
    for name, parameter in state.model.named_parameters():
        assert parameter.is_meta and parameter.grad is not None and parameter.grad.shape == parameter.shape, name


@pytest.mark.parametrize("setting", [{"training.micro_batch_size": 2}, {"training.checkpoint_layers": True}])
def test_so_do_micro_batches_and_checkpointed_layers(datasets, setting):
    state, training = start(datasets["regression"], "tiny", **setting)
    state.model.checkpoint_layers = training.checkpoint_layers
    updates(state, datasets["regression"], training, 1)


def test_products_in_half_precision_are_made_of_half_precision(datasets):
    state, training = start(datasets["regression"], "tiny", **{"training.precision": "bf16"})
    seen = {}
    layer = state.model.layers[0]
    layer.attention.query_key_value.register_forward_hook(lambda m, i, out: seen.update(product=out.dtype))
    layer.register_forward_hook(lambda m, i, out: seen.update(residual=out.dtype))
    updates(state, datasets["regression"], training, 1)
    assert seen == {"product": torch.bfloat16, "residual": torch.float32}


def test_the_loss_is_read_every_50_updates_and_at_the_end_of_an_epoch(datasets, monkeypatch):
    state, training = start(
        datasets["regression"], "tiny", **{"model.layers": 1, "training.batch_size": 1, "training.evaluate_every": 3}
    )
    read = LossWindow.read
    reads = []

    def counting(window, sums):
        reads.append((state.update, window.pending))
        read(window, sums)

    monkeypatch.setattr(LossWindow, "read", counting)
    data = datasets["regression"]  # 20 graphs: 20 updates an epoch
    updates(state, data, training, 21)
    assert reads == [(20, 20)]

    from grpe_dgl.training import loss_window

    reads.clear()
    monkeypatch.setattr(loss_window, "UPDATES_BETWEEN_READS", 8)
    state, training = start(data, "tiny", **{"model.layers": 1, "training.batch_size": 1})
    updates(state, data, training, 17)
    assert reads == [(7, 8), (15, 8)]  # before the update is applied


def test_evaluation_reads_outputs_at_the_end_alone(datasets):
    data = datasets["multiclass"]
    state, training = start(data, "tiny")
    batches = []
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        predict_split(
            state.model, data.train, data.schema, batch_size=4, processes=META, after_batch=lambda n: batches.append(n)
        )
    assert batches == [4] * 5  # all were computed before the first was read


class Synchronising(nn.Module):
    """A layer with a mistake that only a GPU's user would notice."""

    def __init__(self, mistake):
        super().__init__()
        self.mistake = mistake

    def forward(self, x):
        self.mistake(x)
        return x


@pytest.mark.parametrize(
    "mistake",
    [
        lambda x: x.sum().item(),
        lambda x: x.tolist(),
        lambda x: x.detach().numpy(),
        lambda x: x[x > 0],
        lambda x: bool((x > 0).any()),
        lambda x: x + torch.zeros(x.shape),
    ],
)
def test_a_mistake_would_be_found(datasets, mistake):
    state, training = start(datasets["regression"], "tiny")
    state.model.final_norm = nn.Sequential(state.model.final_norm, Synchronising(mistake))
    with pytest.raises((RuntimeError, NotImplementedError, TypeError)):
        updates(state, datasets["regression"], training, 1)

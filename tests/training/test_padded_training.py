"""Training on padded batches, which every device but the CPU needs, gives the numbers of training on pair graphs."""

import itertools

import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.data.batching.collate import collate
from grpe_dgl.data.batching.parts import Division, collate_parts, rows_in_order
from grpe_dgl.errors import InputError
from grpe_dgl.training.distributed import SINGLE
from grpe_dgl.training.loop import train, training_batches
from grpe_dgl.training.run import Callbacks, run
from grpe_dgl.training.schedule import Schedule
from grpe_dgl.training.state import State, make_optimizer
from grpe_dgl.training.step import StepBatch, compute_gradients
from grpe_dgl.training.stop_request import Stopped, StopRequest
from tests.training.tiny import recipe, write_dataset

QUIET = {"model__dropout": 0.0, "model__attention_dropout": 0.0, "model__input_noise": 0.0}
SWITCHES = ("topology_attention", "edge_attention", "graph_value", "share_encodings")
KINDS = {"regression": "l1", "binary": "bce", "multiclass": "weighted_cross_entropy"}


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    return {kind: grpe_dgl.data.load(write_dataset(folder / kind, kind)) for kind in KINDS}


def double_model(data, **overrides):
    torch.manual_seed(0)
    model = build_model(recipe(**QUIET, **overrides).fit_to_task(data.task).model, data.schema).double()
    for parameter in model.parameters():  # biases and the virtual node start at zero
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def gradients(model, data, index, training, division):
    model.zero_grad()
    batch = StepBatch.of(collate_parts(data.store, index, data.view, division), data.schema, training.loss)
    total, normaliser = compute_gradients(model, batch, training, SINGLE)
    # A table's row that no pair uses gets a gradient of zero in one form and none in the other.
    return float(total / normaliser), {
        name: torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.clone()
        for name, parameter in model.named_parameters()
    }


def assert_same(ours, theirs, tolerance=1e-10):
    assert ours[0] == pytest.approx(theirs[0], rel=tolerance)
    for name, expected in theirs[1].items():
        scale = max(float(expected.abs().max()), 1e-3)
        assert float((ours[1][name] - expected).abs().max()) <= tolerance * scale, name


@pytest.mark.parametrize("kind", ["regression", "multiclass"])
@pytest.mark.parametrize("key_term", ["neighbour", "self"])
@pytest.mark.parametrize("switches", list(itertools.product([True, False], repeat=4)))
def test_outputs_and_gradients_are_those_of_the_pair_graph(datasets, kind, key_term, switches):
    data = datasets[kind]
    overrides = {f"model__{name}": value for name, value in zip(SWITCHES, switches, strict=True)}
    model = double_model(data, model__key_term=key_term, **overrides).train()
    index = data.train.index[:7]
    division = Division(padded=True, most_groups=3)
    parts = collate_parts(data.store, index, data.view, division).parts
    assert len(parts) > 1
    outputs = rows_in_order(
        [part.placement for part in parts], [model(part.graph) for part in parts], per_node=kind == "multiclass"
    )
    expected = model(collate(data.store, index, data.view).graph)
    torch.testing.assert_close(outputs, expected, rtol=1e-10, atol=1e-10)
    training = recipe(**QUIET, training__loss=KINDS[kind]).training
    whole = gradients(model, data, index, training, Division())
    assert_same(gradients(model, data, index, training, division), whole)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("padded", [False, True])
def test_parts_have_the_gradients_of_one_piece(datasets, kind, padded):
    """Labels are missing here and there, and the classes' weights are those of the whole batch."""
    data = datasets[kind]
    model = double_model(data).train()
    training = recipe(**QUIET, training__loss=KINDS[kind]).training
    index = data.train.index
    whole = gradients(model, data, index, training, Division(padded=padded, most_groups=1))
    for division in (Division(padded=padded), Division(padded=padded, micro_batch_size=3)):
        assert len(division.places(data.num_real_nodes(index))) > 1 or not (padded or division.micro_batch_size)
        assert_same(gradients(model, data, index, training, division), whole)


def test_checkpointed_layers_have_the_same_gradients(datasets):
    data = datasets["regression"]
    training = recipe(**QUIET).fit_to_task(data.task).training
    for padded in (False, True):
        model = double_model(data).train()
        index, division = data.train.index, Division(padded=padded)
        plain = gradients(model, data, index, training, division)
        model.checkpoint_layers = True
        assert_same(gradients(model, data, index, training, division), plain)


def curve(data, *, padded, **overrides):
    """Return the losses of 20 updates of the real loop."""
    fitted = recipe(**QUIET, training__epochs=4, **overrides).fit_to_task(data.task)
    torch.manual_seed(0)
    model = build_model(fitted.model, data.schema)
    state = State(model, make_optimizer(model, fitted.training))
    batches = training_batches(data, fitted.training)
    losses = []
    schedule = Schedule.of(fitted.training, len(batches))
    rows = train(
        state,
        data,
        fitted.training,
        batches,
        schedule,
        padded=padded,
        after_step=lambda loss, rate: losses.append(loss),
    )
    metrics = [row[f"valid_{fitted.training.metric}"] for row in rows]
    assert len(losses) == 20
    return losses, metrics


@pytest.mark.parametrize("kind", KINDS)
def test_loss_curves_of_20_updates(datasets, kind):
    expected, metrics = curve(datasets[kind], padded=False, training__loss=KINDS[kind])
    found, same = curve(datasets[kind], padded=True, training__loss=KINDS[kind])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(same, metrics, rtol=1e-4)
    cut, _ = curve(datasets[kind], padded=True, training__loss=KINDS[kind], training__micro_batch_size=2)
    np.testing.assert_allclose(cut, expected, rtol=1e-5, atol=1e-6)


def test_a_run_on_padded_batches_resumes_bit_for_bit(datasets, tmp_path):
    data = datasets["binary"]
    settings = recipe(training__micro_batch_size=3)  # with dropout and noise
    run(settings, data, tmp_path / "whole", padded=True)
    stop = StopRequest()

    def interrupt(update, updates, loss, rate):
        if update == 7:
            stop.signal = 2

    with pytest.raises(Stopped):
        run(settings, data, tmp_path / "cut", padded=True, stop=stop, callbacks=Callbacks(step=interrupt))
    run(settings, data, tmp_path / "cut", padded=True)
    whole, cut = (load_checkpoint(tmp_path / name / "last.ckpt") for name in ("whole", "cut"))
    assert all(torch.equal(whole.weights[key], cut.weights[key]) for key in whole.weights)
    losses = [[row["train_loss"] for row in saved.training["history"]] for saved in (whole, cut)]
    assert losses[0] == losses[1]


def test_half_precision_is_near_full(datasets):
    data = datasets["regression"]
    full, _ = curve(data, padded=True)
    half, _ = curve(data, padded=True, training__precision="bf16")
    np.testing.assert_allclose(half, full, rtol=0.1, atol=0.05)
    assert half != full


def test_the_softmax_of_half_precision_is_computed_in_float32():
    """64 keys of equal score: their weights, 1/64 each, sum to 1 exactly; in bfloat16 a sum of 1/65 would not."""
    from grpe_dgl.ops import DensePairs, relative_attention

    size = 65
    zero = torch.zeros(1, size, 1, 8, dtype=torch.bfloat16)
    value = torch.ones(1, size, 1, 8, dtype=torch.bfloat16)
    pairs = DensePairs(torch.zeros(1, size, size, dtype=torch.uint8), torch.ones(1, size, dtype=torch.bool))
    table = torch.ones(1, 1, 8, dtype=torch.bfloat16)
    z = relative_attention(pairs, zero, zero, value, None, None, table)  # sum of weights, twice
    assert z.dtype == torch.bfloat16
    torch.testing.assert_close(z, torch.full_like(z, 2.0), rtol=0.01, atol=0)


def test_a_model_with_batch_norm_is_computed_in_one_piece(datasets, tmp_path, monkeypatch):
    data = datasets["regression"]
    model = double_model(data)
    assert not model.uses_batch_statistics
    model.extra = torch.nn.BatchNorm1d(16)
    assert model.uses_batch_statistics
    from grpe_dgl.models.grpe.model import GRPE

    monkeypatch.setattr(GRPE, "uses_batch_statistics", True)
    with pytest.raises(InputError, match="training.micro_batch_size is 2, and this model normalises over the graphs"):
        run(recipe(training__micro_batch_size=2), data, tmp_path / "run")
    run(recipe(training__epochs=2), data, tmp_path / "padded", padded=True)


def test_ways_to_compute_that_a_family_lacks_are_refused(datasets, tmp_path, monkeypatch):
    from grpe_dgl.models.grpe.model import GRPE

    monkeypatch.setattr(GRPE, "checkpoints_layers", False)
    with pytest.raises(InputError, match="training.checkpoint_layers is true, which models of the family grpe do not"):
        run(recipe(training__checkpoint_layers=True), datasets["regression"], tmp_path / "run")

"""FLAG computes its formula for every kind of model, however a batch is divided, and resumes exactly."""

import pytest
import torch

import grpe_dgl.data
from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.data.batching.parts import Division, collate_parts
from grpe_dgl.data.encodings.prepare import prepare_encodings
from grpe_dgl.errors import InputError
from grpe_dgl.recipe import Recipe
from grpe_dgl.training.distributed import SINGLE
from grpe_dgl.training.flag import Perturbation, uniform
from grpe_dgl.training.losses import l1
from grpe_dgl.training.run import run
from grpe_dgl.training.step import StepBatch, compute_gradients
from grpe_dgl.training.stop_request import Stopped
from tests.models.test_message_passing_processes import PROGRAM
from tests.training.test_distributed import two_processes
from tests.training.test_run import Stop, assert_equal_weights, weights
from tests.training.tiny import write_dataset

MODELS = {
    "grpe": {"layers": 2, "hidden_size": 16, "ffn_size": 16, "num_heads": 2, "dropout": 0, "attention_dropout": 0},
    "gcn": {"layers": 2, "hidden_size": 8},
    "gatedgcn": {"layers": 2, "hidden_size": 8},
    "ogb_gin": {"layers": 2, "hidden_size": 8, "virtual_node": True, "dropout": 0},
    "dgn": {"layers": 2, "hidden_size": 8},
    "phc": {"components": 2, "layers": 2, "hidden_size": 8},
    "gt": {"layers": 2, "hidden_size": 16, "num_heads": 2, "laplacian_size": 2},
    "graphormer": {"layers": 2, "hidden_size": 16, "num_heads": 2, "ffn_size": 16},
}
WHOLE = Division()
FLAG = {"step_size": 0.05, "steps": 3}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("data") / "tiny", "regression")


def recipe_of(name, **training):
    section = {"batch_size": 4, "epochs": 6, "learning_rate": 0.01, "loss": "l1", "metric": "mae", "flag": FLAG}
    dropout = {key: 0.0 for key in ("dropout", "attention_dropout", "input_dropout") if name == "graphormer"}
    model = {"name": name, **dropout, **MODELS[name]}
    return Recipe.from_dict({"dataset": "tiny", "model": model, "training": {**section, **training}})


def opened(path, recipe):
    data = grpe_dgl.data.load(path, view=recipe.model.view)
    prepare_encodings(data.store, data.view.encodings)
    return data


def gradients(data, recipe, division=WHOLE, update=7):
    """Return the loss and the gradients of the first eight graphs."""
    torch.manual_seed(3)
    model = build_model(recipe.model, data.schema).train()
    parts = collate_parts(data.store, data.train.index[:8], data.view, division)
    batch = StepBatch.of(parts, data.schema, "l1")
    total, normaliser = compute_gradients(model, batch, recipe.training, SINGLE, update=update, rate=0.01)
    return (
        float(total / normaliser),
        {name: p.grad for name, p in model.named_parameters() if p.grad is not None},
        batch,
    )


@pytest.mark.parametrize("name", MODELS)
def test_formula(name, path):
    recipe = recipe_of(name)
    data = opened(path, recipe)
    loss, found, batch = gradients(data, recipe)
    (part,) = batch.parts
    torch.manual_seed(3)
    model = build_model(recipe.model, data.schema).train()
    rows = part.graph.num_nodes()
    width = model.nodes(model.nodes.check(part.graph.ndata["feat"])).shape[-1]
    key = Perturbation(part.graph, batch.indices, step_size=0.05, seed=0, update=7)._key
    delta = 0.1 * (uniform(key, width) - 0.5)
    assert delta.shape == (rows, width)
    losses = []
    for _ in range(3):
        delta = delta.detach().requires_grad_()
        handle = model.nodes.register_forward_hook(lambda module, inputs, output, delta=delta: output + delta)
        each = l1(model(part.graph), part.label).mean
        handle.remove()
        (each / 3).backward()
        losses.append(float(each.detach()))
        delta = delta + 0.05 * delta.grad.sign()
    assert loss == pytest.approx(sum(losses) / 3, rel=1e-5) and losses[2] > losses[0]
    for parameter, grad in found.items():
        torch.testing.assert_close(grad, model.get_parameter(parameter).grad, rtol=1e-4, atol=1e-6)


def test_parts_of_a_batch_and_padding_change_nothing(path):
    recipe = recipe_of("grpe")
    data = opened(path, recipe)
    whole, expected, _ = gradients(data, recipe)
    for division in (Division(micro_batch_size=3), Division(padded=True), Division(padded=True, micro_batch_size=2)):
        loss, found, batch = gradients(data, recipe, division)
        assert len(batch.parts) > 1 or division.padded
        assert loss == pytest.approx(whole, rel=1e-5)
        for name, grad in expected.items():
            torch.testing.assert_close(found[name], grad, rtol=1e-3, atol=1e-5)


def test_random_start_depends_on_update_seed_graph_node_and_column():
    keys = torch.arange(4000)
    numbers = uniform(keys, 5)
    assert numbers.min() >= 0 and numbers.max() < 1 and numbers.unique().numel() > 19_900
    assert float(numbers.mean()) == pytest.approx(0.5, abs=0.01)
    assert float(numbers.std()) == pytest.approx(12**-0.5, abs=0.01)
    assert abs(float(torch.corrcoef(numbers.T).fill_diagonal_(0).abs().max())) < 0.06
    assert abs(float(torch.corrcoef(torch.stack([numbers[1:, 0], numbers[:-1, 0]]))[0, 1])) < 0.06


def test_every_update_and_seed_has_its_own_start(path):
    recipe = recipe_of("gcn", flag={"step_size": 0.5, "steps": 1})
    data = opened(path, recipe)
    losses = {gradients(data, recipe, update=update)[0] for update in (0, 1)}
    losses.add(gradients(data, recipe.override({"training.seed": 1}), update=0)[0])
    assert len(losses) == 3


@pytest.mark.parametrize("name", ["grpe", "gatedgcn"])
def test_resumes_bit_for_bit_with_a_plateau_in_mid_patience(name, path, tmp_path):
    """The loss cannot get better at a rate of nearly 0, so that epochs 2 and 3 use up the patience."""
    plateau = {"schedule": "plateau", "optimizer": "adam", "plateau_patience": 1, "plateau_factor": 0.3}
    recipe = recipe_of(name, **plateau, learning_rate=1e-6, minimum_learning_rate=2e-7, weight_decay=1e-3)
    data = opened(path, recipe)
    whole = run(recipe, data, tmp_path / "whole")
    with pytest.raises(Stopped):
        run(recipe, data, tmp_path / "parts", stop=Stop(12))  # in the third epoch of five updates
    torch.manual_seed(12345)
    parts = run(recipe, data, tmp_path / "parts")
    assert_equal_weights(weights(tmp_path / "whole"), weights(tmp_path / "parts"))
    assert parts["splits"] == whole["splits"] and parts["stopped_early"]
    assert parts["minimum_learning_rate_reached"] is True
    history = load_checkpoint(tmp_path / "parts" / "last.ckpt").training["history"]
    assert [row["learning_rate"] for row in history] == [1e-6, 1e-6, 1e-6, 3e-7, 3e-7]
    assert all(row["valid_loss"] > 0 for row in history)


@pytest.mark.slow
def test_two_processes_equal_one_batch_statistics_included(path, tmp_path):
    recipe = recipe_of("gcn", epochs=2, schedule="plateau", optimizer="adam")
    run(recipe, opened(path, recipe), tmp_path / "one")
    (tmp_path / "recipe.yaml").write_text(recipe.to_yaml())
    two_processes(["-c", PROGRAM], tmp_path / "recipe.yaml", path, tmp_path / "two")
    one, two = (load_checkpoint(tmp_path / folder / "last.ckpt").training["history"] for folder in ("one", "two"))
    for column, close in (("train_loss", 1e-3), ("valid_loss", 2e-2)):
        assert [row[column] for row in two] == pytest.approx([row[column] for row in one], rel=close)


def test_weight_penalty_adds_its_gradient(path):
    plain = recipe_of("phc", flag=None)
    data = opened(path, plain)
    _, without, _ = gradients(data, plain)
    _, with_penalty, _ = gradients(data, plain.override({"training.weight_penalty": 5.0}))
    torch.manual_seed(3)
    model = build_model(plain.model, data.schema)
    norm = 0.0
    for name, parameter in model.named_parameters():
        if name.endswith(".weight") and parameter.dim() == 3:
            norm = norm + (parameter**2).sum(0).sqrt().mean()
    torch.testing.assert_close(model.weight_norm(), norm)
    (5.0 * 0.01 * norm).backward()
    for name, parameter in model.named_parameters():
        added = 0.0 if parameter.grad is None else parameter.grad
        torch.testing.assert_close(with_penalty[name], without[name] + added)


def test_what_a_family_or_option_does_not_support(path, tmp_path):
    with pytest.raises(
        InputError, match="training.weight_penalty is 0.1, which models of the family gcn do not support"
    ):
        recipe = recipe_of("gcn", weight_penalty=0.1)
        run(recipe, opened(path, recipe), tmp_path)
    with pytest.raises(InputError, match=r"training.compile is True; accepted: false with training.flag"):
        recipe_of("grpe", compile=True)
    with pytest.raises(InputError, match=r"training.flag.steps is 0; accepted: 1 to 1000"):
        recipe_of("grpe", flag={"step_size": 0.1, "steps": 0})
    with pytest.raises(InputError, match=r"training.flag.step_size is missing"):
        recipe_of("grpe", flag={})

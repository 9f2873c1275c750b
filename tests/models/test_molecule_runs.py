"""The molecule families through training, resuming, prediction, fingerprints and fine-tuning, on real SMILES."""

import json

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import grpe_dgl.data
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.recipe import Recipe
from grpe_dgl.training.run import Callbacks, run
from grpe_dgl.training.stop_request import Stopped, StopRequest
from grpe_dgl_cli.main import main
from tests.models.small_graphs import batch, randomise, schema
from tests.models.test_molecule_families import MODELS, build, some_graphs
from tests.training.test_distributed import two_processes

SMILES = [
    "CCO",
    "c1ccccc1",
    "CC(=O)O",
    "CCN",
    "C",
    "C1CC1",
    "CO",
    "[Na+].[Cl-]",
    "CC#N",
    "C=CC",
    "CNC",
    "CCBr",
    "CCC#N",
]
RUNS = ["gine", "gineplus", "dgn_simple", "dgn_complex", "deepergcn_vn", "phc_mlp", "phc_sum", "graphnorm"]
PROGRAM = """
import sys
import torch
from torch.nn.parallel import DistributedDataParallel
from grpe_dgl.training.distributed import processes
from tests.models.test_molecule_runs import one_step
with processes(torch.device("cpu")) as group:
    names = sys.argv[2:]
    found = {name: one_step(name, group.rank, group.world_size, DistributedDataParallel) for name in names}
    if group.rank == 0:
        torch.save(found, sys.argv[1])
"""


def recipe_of(name, dataset="first", dropout=0.2, **training):
    options = {"batch_size": 3, "epochs": 3, "learning_rate": 0.01, **training}
    return Recipe.from_dict({"dataset": dataset, "model": {**MODELS[name], "dropout": dropout}, "training": options})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two datasets of the same molecules: a regression, and a classification to fine-tune to."""
    folder = tmp_path_factory.mktemp("molecules")
    rows = "".join(f"{text},{len(text) + 0.5},{number % 2}\n" for number, text in enumerate(SMILES))
    (folder / "t.csv").write_text("smiles,y,c\n" + rows)
    for target, name in (("y", "first"), ("c", "second")):
        arguments = ["preprocess", "csv", str(folder / "t.csv"), "--target", target, "--name", name, "--data"]
        arguments += [str(folder / "data"), "--fractions", "0.6,0.2,0.2", "--encodings", "combinatorial_laplacian:1"]
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
    return folder


@pytest.mark.parametrize("name", RUNS)
def test_resumes_evaluates_predicts_and_fine_tunes(folder, tmp_path, monkeypatch, name):
    recipe = recipe_of(name)
    data = grpe_dgl.data.load(folder / "data" / "first", view=recipe.model.view)
    assert len(data.train) % 3 == 1  # the last batch of an epoch has a single graph
    whole = run(recipe, data, tmp_path / "whole")
    stop = StopRequest()

    def interrupt(update, updates, loss, rate):
        if update == 4:
            stop.signal = 2

    with pytest.raises(Stopped):
        run(recipe, data, tmp_path / "cut", stop=stop, callbacks=Callbacks(step=interrupt))
    resumed = run(recipe, data, tmp_path / "cut")
    assert resumed["splits"] == whole["splits"]
    ours, theirs = (load_checkpoint(tmp_path / run / "last.ckpt").weights for run in ("whole", "cut"))
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[key], theirs[key]) for key in ours)
    if name != "graphnorm":
        assert any(key.endswith("running_mean") for key in ours)

    monkeypatch.chdir(tmp_path)
    data_option = ["--data", str(folder / "data")]
    result = CliRunner().invoke(main, ["evaluate", "whole/best.ckpt", "--split", "test", "--json", *data_option])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)[whole["metric"]] == pytest.approx(whole["splits"]["test"], rel=1e-5)

    predictor = grpe_dgl.load("whole/best.ckpt")
    together = predictor.predict(SMILES)
    assert together.shape == (13, 1) and np.isfinite(together).all() and together.std() > 0
    alone = np.concatenate([predictor.predict([text]) for text in SMILES])
    np.testing.assert_allclose(alone, together, rtol=1e-4, atol=1e-4)
    stored = {split: predictor.outputs(data.batch(data[split].index)) for split in ("train", "test")}
    for split, values in stored.items():
        np.testing.assert_allclose(values, together[data.store.row[data[split].index]], rtol=1e-4, atol=1e-4)
    prints = predictor.fingerprint(SMILES, layers=2)
    assert prints.shape == (13, 2 * recipe.model.hidden_size) and np.isfinite(prints).all()
    np.testing.assert_allclose(np.linalg.norm(prints[:, recipe.model.hidden_size :], axis=1), 1, rtol=1e-5)

    result = CliRunner().invoke(main, ["info", "whole/best.ckpt"])
    sizes = f"{recipe.model.layers} layers of {recipe.model.hidden_size}"
    assert result.exit_code == 0 and f"{recipe.model.NAME}, {sizes}" in result.stdout
    result = CliRunner().invoke(main, ["export", "whole/best.ckpt", "--out", "exported"])
    assert result.exit_code == 1 and f"models of the family {recipe.model.NAME} cannot be exported" in result.output

    (tmp_path / "f.yaml").write_text(recipe_of(name, "second", dropout=0.1, epochs=1).to_yaml())
    arguments = ["finetune", "--from", "whole/best.ckpt", "f.yaml", "--out", "tuned", *data_option]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    tuned = load_checkpoint("tuned/best.ckpt")
    assert tuned.recipe.model.dropout == 0.1 and tuned.provenance["fresh"][0].startswith("head")


def one_step(name, rank=0, world_size=1, wrap=lambda model: model):
    """Return gradients and running statistics after a step in training on this process's part of ten graphs."""
    model, settings = build(name)
    randomise(model.double()).train()
    graphs = some_graphs(10)
    weight = torch.randn(10, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    part = slice(rank * 4, 4 if world_size > 1 and rank == 0 else 10)  # four and six graphs
    wrapped = wrap(model)
    output = wrapped(batch(graphs[part], schema(), settings.view))
    (world_size * (output * weight[part]).sum()).backward()  # gradients are averaged over the processes
    gradients = {f"gradient of {key}": parameter.grad for key, parameter in model.named_parameters()}
    return gradients | {key: value for key, value in model.state_dict().items() if "running" in key}


@pytest.mark.slow
def test_batch_statistics_are_those_of_all_processes(tmp_path):
    """Of nodes, and of graphs where a virtual node or a head is normalised."""
    names = ["gine", "deepergcn_vn", "phc_mlp", "dgn_complex"]
    two_processes(["-c", PROGRAM], tmp_path / "two.pt", *names)
    found = torch.load(tmp_path / "two.pt", weights_only=True)
    for name in names:
        one, two = one_step(name), found[name]
        assert one.keys() == two.keys() and any("running" in key for key in one)
        for key, value in one.items():
            text = f"{name}: {key} differs"
            torch.testing.assert_close(two[key], value, rtol=1e-9, atol=1e-10, msg=lambda t, text=text: f"{text}: {t}")

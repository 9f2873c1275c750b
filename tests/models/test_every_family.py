"""What works for every family of the registry, each with a small model of molecules."""

import json

import numpy as np
import pytest
import torch

import grpe_dgl
import grpe_dgl.data
from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.checkpoint.transfer import transfer_weights
from grpe_dgl.data.encodings.prepare import prepare_encodings
from grpe_dgl.data.store.store import Store
from grpe_dgl.explain import explain
from grpe_dgl.families import FAMILIES, model_class, settings_class
from grpe_dgl.inference import Predictor
from grpe_dgl.recipe import Recipe
from grpe_dgl.schema import known_schema
from grpe_dgl.training.run import Callbacks, run
from grpe_dgl.training.stop_request import Stopped, StopRequest
from tests import trained
from tests.cli.invoke import grpe
from tests.models.small_graphs import randomise
from tests.models.test_message_passing_families import MODELS as MESSAGE_PASSING
from tests.models.test_molecule_families import MODELS as MOLECULES
from tests.models.test_transformers import MODELS as TRANSFORMERS
from tests.training.test_distributed import two_processes

GRPE = {"name": "grpe", "layers": 2, "hidden_size": 16, "num_heads": 2, "ffn_size": 16}
MODELS = {
    **MESSAGE_PASSING,
    **MOLECULES,
    **{name: {"name": name.split("_")[0], **model} for name, model in TRANSFORMERS.items()},
    "grpe": GRPE,
}
ONE_OF_EACH = {model["name"]: {**model, "layers": 2} for model in MODELS.values()}
# Forms whose training has a state or a random number of its own.
FURTHER = ("gin_pe", "ogb_gcn_vn", "deepergcn_vn", "gineplus", "dgn_simple", "phc_sum", "gt", "egt")
TRAINED = ONE_OF_EACH | {name: MODELS[name] for name in FURTHER if MODELS[name] not in ONE_OF_EACH.values()}
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
RANDOM = ("dropout", "attention_dropout", "input_dropout", "encoding_dropout", "random_mask", "input_noise")
PROGRAM = """
import sys
import torch
from torch.nn.parallel import DistributedDataParallel
from grpe_dgl.training.distributed import processes
from tests.models.test_every_family import ONE_OF_EACH, one_step
with processes(torch.device("cpu")) as group:
    wrap = DistributedDataParallel
    found = {name: one_step(name, sys.argv[2], group.rank, group.world_size, wrap) for name in ONE_OF_EACH}
    if group.rank == 0:
        torch.save(found, sys.argv[1])
"""


def recipe_of(name, dataset="first", dropout=0.2, **training):
    section = dict(TRAINED[name])
    for key in ("dropout", "attention_dropout"):
        if key in _fields(section["name"]):
            section[key] = dropout
    options = {"batch_size": 3, "epochs": 3, "learning_rate": 0.01, **training}
    return Recipe.from_dict({"dataset": dataset, "model": section, "training": options})


def _fields(family):
    return set(settings_class(family).__dataclass_fields__)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two datasets of the same molecules: a regression, and a classification to fine-tune to."""
    folder = tmp_path_factory.mktemp("molecules")
    rows = "".join(f"{text},{len(text) + 0.5},{number % 2}\n" for number, text in enumerate(SMILES))
    (folder / "t.csv").write_text("smiles,y,c\n" + rows)
    for target, name in (("y", "first"), ("c", "second")):
        options = ["--target", target, "--name", name, "--data", "data", "--fractions", "0.6,0.2,0.2"]
        grpe("preprocess", "csv", "t.csv", *options, folder=folder)
    return folder


def open_dataset(folder, name, recipe):
    path = folder / "data" / name
    prepare_encodings(Store(path), recipe.model.view.encodings)
    return grpe_dgl.data.load(path, view=recipe.model.view)


def test_there_is_a_model_of_every_family():
    assert set(ONE_OF_EACH) == set(FAMILIES)


@pytest.mark.parametrize("name", TRAINED)
def test_resumes_bit_for_bit_evaluates_predicts_and_fine_tunes(name, folder, tmp_path, monkeypatch):
    recipe = recipe_of(name)
    family = recipe.model.NAME
    data = open_dataset(folder, "first", recipe)
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

    monkeypatch.chdir(tmp_path)
    options = ["--data", folder / "data"]
    result = json.loads(grpe("evaluate", "whole/best.ckpt", "--split", "test", "--json", *options).stdout)
    assert result[whole["metric"]] == pytest.approx(whole["splits"]["test"], rel=1e-5)

    predictor = grpe_dgl.load("whole/best.ckpt")
    together = predictor.predict(SMILES)
    assert together.shape == (13, 1) and np.isfinite(together).all() and together.std() > 0
    alone = np.concatenate([predictor.predict([text]) for text in SMILES[:5]])
    np.testing.assert_allclose(alone, together[:5], rtol=1e-4, atol=1e-4)
    stored = predictor.outputs(data.batch(data.test.index))
    np.testing.assert_allclose(stored, together[data.store.row[data.test.index]], rtol=1e-4, atol=1e-4)
    (_, row) = grpe("predict", "whole/best.ckpt", "CC(=O)O").stdout.splitlines()
    assert float(row.split(",")[1]) == pytest.approx(float(together[2, 0]), rel=1e-4)

    grpe("fingerprint", "whole/best.ckpt", folder / "data" / "first", "--layers", 2, "--out", "x.npy")
    prints = np.load("x.npy")
    assert prints.shape == (13, predictor.model.fingerprint_size(2))
    np.testing.assert_allclose((prints**2).sum(1), 2, rtol=1e-4)
    assert recipe.model.describe() in grpe("info", "whole/best.ckpt").stdout
    if not model_class(family).takes_padded:
        message = grpe("export", "whole/best.ckpt", "--out", "exported", code=1).output
        assert f"models of the family {family} cannot be exported" in message
        accepted = ", ".join(name for name in FAMILIES if model_class(name).takes_padded)
        assert accepted.count(",") == 4 and f"accepted: {accepted}" in message

    (tmp_path / "f.yaml").write_text(recipe_of(name, "second", dropout=0.1, epochs=1).to_yaml())
    grpe("finetune", "--from", "whole/best.ckpt", "f.yaml", "--out", "tuned", *options)
    tuned = load_checkpoint("tuned/best.ckpt")
    assert tuned.recipe.model != recipe.model and tuned.provenance["fresh"][0].startswith("head")


def one_step(name, folder, rank=0, world_size=1, wrap=lambda model: model):
    """Return gradients and running statistics after a step in training on this process's part of ten graphs."""
    section = dict(ONE_OF_EACH[name])
    fields = _fields(section["name"])
    section |= {key: 0.0 for key in RANDOM if key in fields}
    if "svd_size" in fields:
        section["svd_size"] = 0  # whose signs are random for every graph
    if "head_dropout" in section:
        section["head_dropout"] = [0.0] * len(section["head_dropout"])
    recipe = Recipe.from_dict({"dataset": "first", "model": section, "training": {"batch_size": 4, "epochs": 1}})
    data = grpe_dgl.data.load(f"{folder}/data/first", view=recipe.model.view)
    torch.manual_seed(0)
    model = build_model(recipe.model, data.schema)
    randomise(model.double()).train()
    weight = torch.randn(10, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    part = slice(rank * 4, 4 if world_size > 1 and rank == 0 else 10)  # four and six graphs
    torch.manual_seed(1)  # signs of eigenvectors, which are those of all processes
    wrapped = wrap(model)  # alive in the backward pass, in which it exchanges gradients
    output = wrapped(data.batch(np.arange(10)[part]).graph)
    (world_size * (output * weight[part]).sum()).backward()  # gradients are averaged over the processes
    gradients = {key: parameter.grad for key, parameter in model.named_parameters() if parameter.grad is not None}
    running = {key: value for key, value in model.state_dict().items() if "running" in key}
    return {f"gradient of {key}": value for key, value in gradients.items()} | running


@pytest.mark.slow
def test_two_processes_compute_what_one_does(folder, tmp_path):
    """Batch statistics included: of nodes, and of graphs where a virtual node or a head is normalised."""
    for section in ONE_OF_EACH.values():
        made = Recipe.from_dict({"dataset": "first", "model": section, "training": {"batch_size": 4, "epochs": 1}})
        prepare_encodings(Store(folder / "data" / "first"), made.model.view.encodings)
    two_processes(["-c", PROGRAM], tmp_path / "two.pt", folder)
    found = torch.load(tmp_path / "two.pt", weights_only=True)
    for name in ONE_OF_EACH:
        one, two = one_step(name, folder), found[name]
        assert one.keys() == two.keys()
        for key, value in one.items():
            text = f"{name}: {key} differs"
            torch.testing.assert_close(two[key], value, rtol=1e-8, atol=1e-9, msg=lambda t, text=text: f"{text}: {t}")


@pytest.mark.parametrize("family", FAMILIES)
def test_predicts_smiles_makes_fingerprints_of_two_layers_and_explains(family):
    checkpoint = trained.checkpoint_of(ONE_OF_EACH[family])
    predictor = Predictor(checkpoint)
    together = predictor.predict(["CCO", "c1ccccc1N", "C"])
    assert together.shape == (3, 1) and np.isfinite(together).all()
    np.testing.assert_allclose(predictor.predict(["OCC"]), together[:1], rtol=1e-4, atol=1e-5)
    found = predictor.fingerprint(["CCO", "C"])
    assert found.shape == (2, checkpoint.model().fingerprint_size(2)) and np.isfinite(found).all()
    np.testing.assert_allclose(
        predictor.fingerprint(["CCO"], layers=1), found[:1, -predictor.model.fingerprint_size(1) :], atol=1e-5
    )
    (explained,) = explain(checkpoint, ["CCO"])
    assert explained.value == pytest.approx(float(together[0, 0]), rel=1e-4, abs=1e-5)
    assert np.isfinite(explained.atoms).all() and np.isfinite(explained.bonds).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_everything_but_embeddings_is_transferred_to_data_of_another_vocabulary(family):
    checkpoint = trained.checkpoint_of(ONE_OF_EACH[family])
    torch.manual_seed(1)
    model = build_model(checkpoint.recipe.model, known_schema("zinc", name="zinc", task=trained.REGRESSION))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    result = transfer_weights(checkpoint, model, checkpoint.recipe.model, "transformer")
    after = model.state_dict()
    assert result.numbers > 0
    for name, tensor in after.items():
        if model.is_embedding(name) or name.startswith(model.head_prefix):
            assert torch.equal(tensor, before[name]), name
        else:
            assert torch.equal(tensor, checkpoint.weights[name]), name

import csv
import dataclasses
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import grpe_dgl
import grpe_dgl.data
from grpe_dgl.errors import InputError
from grpe_dgl.export import export, write
from grpe_dgl.export.check import require_equal
from grpe_dgl.export.contract import contract
from grpe_dgl.export.module import PaddedModel, padded
from grpe_dgl.inference import Predictor
from grpe_dgl.schema import Task
from grpe_dgl_cli.main import main
from tests import trained
from tests.data.random_graphs import random_graphs

pytestmark = pytest.mark.slow  # tracing a model takes seconds

EXAMPLE = Path(__file__).parents[2] / "examples" / "onnx_predict.py"
SMILES = [
    "CCO",
    "C",
    "nonsense",
    "C/C=C\\C(=O)N[C@@H](C)C(=O)[O-].[Na+]",
    "c1ccc2c(c1)[nH]c1ccccc12",
    "CCCCCCCCCCCC[N+](C)(C)C",
    "O=S(=O)(c1ccc(cc1)C#N)N1CCOCC1",
    "C[C@H](N)C(=O)O",
    "N[C@@H](C)C(=O)O",
    "O[C@H]1[C@@H](O)[C@H](O)[C@@H](CO)O[C@@H]1O",
]
# What runs the example where nothing of ours, and neither torch nor dgl, can be imported.
WITHOUT_US = """
import runpy, sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "dgl", "dgllife", "ogb", "numba", "grpe_dgl", "grpe_dgl_cli"):
            raise ImportError(name + " is not here")
sys.meta_path.insert(0, Blocker())
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    model = trained.save(folder / "model.ckpt", overrides={"model.max_distance": 4, "model.key_term": "self"})
    arguments = ["export", str(model), "--format", "onnx", "--format", "pt2", "--out", str(folder / "model")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "model.onnx: dynamic batch and nodes, opset 18; " in result.output
    assert result.output.count("on random graphs\n") == 2
    return folder


def test_the_example_predicts_without_torch_and_dgl(exported):
    pytest.importorskip("onnxruntime")
    program = [sys.executable, "-c", WITHOUT_US, str(EXAMPLE), str(exported / "model"), *SMILES]
    found = subprocess.run(program, check=True, capture_output=True, text=True, cwd=exported).stdout
    ours = CliRunner().invoke(main, ["predict", str(exported / "model.ckpt"), *SMILES]).stdout
    found, ours = (list(csv.DictReader(io.StringIO(text))) for text in (found, ours))
    assert list(found[0]) == list(ours[0]) and len(found) == len(SMILES)
    for row, expected in zip(found, ours, strict=True):
        assert row["smiles"] == expected["smiles"] and bool(row["error"]) == bool(expected["error"])
        if not expected["error"]:
            assert float(row["predicted_logS"]) == pytest.approx(float(expected["predicted_logS"]), rel=1e-5)
    assert float(found[7]["predicted_logS"]) == pytest.approx(float(found[8]["predicted_logS"]), rel=1e-6)


def test_the_contract_says_what_the_files_take(exported):
    content = json.loads((exported / "model" / "model.json").read_text())
    assert content["files"] == {"onnx": "model.onnx", "pt2": "model.pt2"} and content["opset"] == 18
    assert [entry["name"] for entry in content["inputs"]] == ["nodes", "relation", "mask"]
    assert content["relations"]["distance"] == {"2": 62, "3": 63, "4": 64}
    assert [content["relations"][key] for key in ("self", "virtual", "far", "unreachable")] == [60, 61, 65, 66]
    sizes = [len(column["values"]) for column in content["vocabulary"]["atom_columns"]]
    assert sizes == content["vocabulary"]["node_vocabulary"]
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(exported / "model" / "model.onnx")
    assert [(entry.name, entry.shape) for entry in session.get_inputs()] == [
        (entry["name"], entry["shape"]) for entry in content["inputs"]
    ]


def test_the_contract_has_the_thresholds():
    chosen = dataclasses.replace(trained.checkpoint(trained.BINARY), thresholds=(0.3, 0.7))
    assert contract(chosen, files={}, opset=None)["task"]["thresholds"] == [0.3, 0.7]
    assert contract(trained.checkpoint(trained.BINARY), files={}, opset=None)["task"]["thresholds"] is None


def test_pt2_runs_on_other_sizes(exported):
    program = torch.export.load(exported / "model" / "model.pt2").module()
    predictor = grpe_dgl.load(exported / "model.ckpt")
    from grpe_dgl.export.check import random_batches

    for batch in random_batches(predictor.checkpoint, seed=7):
        np.testing.assert_allclose(
            program(*padded(batch.pairs)).detach().numpy(), predictor.outputs(batch), rtol=1e-4, atol=1e-5
        )


def test_a_task_per_node(tmp_path):
    graphs = random_graphs(9, node_labels=True)
    grpe_dgl.data.write(tmp_path / "nodes", graphs, None, {"train": range(9)}, task="multiclass")
    data = grpe_dgl.data.load(tmp_path / "nodes")
    saved = trained.checkpoint(schema=data.schema)
    export(saved, tmp_path / "model", ["pt2"])
    program = torch.export.load(tmp_path / "model" / "model.pt2").module()
    batch = data.batch([1, 4, 7])
    nodes, relation, mask = padded(batch.pairs)
    found = program(nodes, relation, mask)[:, 1:][mask[:, 1:]].detach().numpy()
    np.testing.assert_allclose(found, Predictor(saved).outputs(batch), rtol=1e-4, atol=1e-6)


def test_a_mismatch_is_an_error_and_leaves_nothing(tmp_path, monkeypatch):
    right = write._write_pt2

    def slightly_wrong(program, path):
        run = right(program, path)
        return lambda *inputs: run(*inputs) * (1 + 2e-4 * (inputs[0].shape[0] == 5))

    monkeypatch.setattr(write, "_write_pt2", slightly_wrong)
    model = trained.save(tmp_path / "model.ckpt")
    result = CliRunner().invoke(main, ["export", str(model), "--format", "pt2", "--out", str(tmp_path / "out")])
    assert result.exit_code == 1 and "the pt2 file differs from the model by 1.7e-03 (relative)" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["model.ckpt"]


@pytest.mark.parametrize(
    ("mean", "deviation", "break_it"),
    [
        ((0.0, 0.0), (100.0, 1e-3), lambda right: right * torch.tensor([1.0, 0.0])),
        ((298.0, 0.0), (0.02, 1.0), lambda right: torch.stack([torch.full_like(right[:, 0], 298.0), right[:, 1]], -1)),
    ],
    ids=["a small target beside a large one", "a large mean"],
)
def test_every_output_is_compared_by_itself(mean, deviation, break_it):
    task = Task(level="graph", kind="regression", targets=("a", "b"), metric="rmse", standardise=True)
    schema = dataclasses.replace(trained.molecule_schema(task), target_mean=mean, target_deviation=deviation)
    saved = trained.checkpoint(schema=schema)
    padded_model = PaddedModel(saved.model(backend="dense"), schema, saved.recipe.model.view).eval()
    with torch.no_grad():
        assert require_equal(padded_model, saved.model(), saved, what="ours") < 1e-4
        with pytest.raises(InputError, match="a broken one differs from the model"):
            require_equal(lambda *inputs: break_it(padded_model(*inputs)), saved.model(), saved, what="a broken one")


def test_folders_that_are_there(exported, tmp_path):
    saved = trained.checkpoint()
    with pytest.raises(InputError, match="exists already, and force is not set"):
        export(saved, exported / "model", ["pt2"])
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="holds 'thesis.txt', which no export made"):
        export(saved, tmp_path, ["pt2"], force=True)
    with pytest.raises(InputError, match="is not a folder"):
        export(saved, tmp_path / "thesis.txt", ["pt2"])
    with pytest.raises(InputError, match="format is 'tf'; accepted: onnx, pt2"):
        export(saved, tmp_path / "new", ["tf"])
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_usage(tmp_path):
    assert CliRunner().invoke(main, ["export", "x.ckpt", "--format", "tf", "--out", "y"]).exit_code == 2
    result = CliRunner().invoke(main, ["export", str(tmp_path / "x.ckpt"), "--out", str(tmp_path / "y")])
    assert result.exit_code == 1 and "x.ckpt cannot be read: No such file" in result.output

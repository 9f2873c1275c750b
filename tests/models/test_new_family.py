"""A family that is defined here, in a few lines, does all that a shipped one does."""

import json
from dataclasses import dataclass
from typing import ClassVar

import dgl
import pytest
import torch
from click.testing import CliRunner
from torch import nn

import grpe_dgl.data
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.errors import InputError
from grpe_dgl.families import FAMILIES, Family, ModelSettings
from grpe_dgl.models.model import GraphModel
from grpe_dgl.recipe import Recipe
from grpe_dgl.training.run import Callbacks, run
from grpe_dgl.training.stop_request import Stopped, StopRequest
from grpe_dgl.views import GraphView
from grpe_dgl_cli.main import main
from tests.training.tiny import write_dataset


@dataclass(frozen=True, kw_only=True)
class SumSettings(ModelSettings):
    NAME: ClassVar = "sum"

    hidden_size: int
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.hidden_size < 1:
            raise InputError(f"model.hidden_size is {self.hidden_size}; accepted: 1 or more")

    @property
    def view(self) -> GraphView:
        return GraphView()

    def describe(self) -> str:
        return f"a sum of neighbours, {self.hidden_size} wide"


class SumModel(GraphModel):
    reads: ClassVar = "graph"

    def __init__(self, settings, schema):
        super().__init__()
        self.columns = nn.ModuleList(nn.Embedding(size, settings.hidden_size) for size in schema.node_vocabulary)
        self.edges = nn.Embedding(schema.num_edge_types, settings.hidden_size)
        self.dropout = nn.Dropout(settings.dropout)
        self.head = nn.Linear(settings.hidden_size, schema.task.num_outputs)
        self.level = schema.task.level

    @classmethod
    def from_settings(cls, settings, schema, *, backend=None):
        return cls(settings, schema)

    def forward(self, graph):
        feat = graph.ndata["feat"]
        x = sum(embed(feat[:, column]) for column, embed in enumerate(self.columns))
        x = x + dgl.ops.copy_e_sum(graph, self.edges(graph.edata["feat"]))
        x = self.dropout(x + dgl.ops.copy_u_sum(graph, x))
        if self.level == "graph":
            x = dgl.ops.segment_reduce(graph.batch_num_nodes(), x, reducer="sum")
        return self.head(x)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(FAMILIES, "sum", Family(f"{__name__}:SumSettings", f"{__name__}:SumModel"))


def recipe(**training):
    return Recipe.from_dict(
        {
            "dataset": "tiny",
            "model": {"name": "sum", "hidden_size": 6, "dropout": 0.2},
            "training": {"batch_size": 4, "epochs": 3, "learning_rate": 0.01, **training},
        }
    )


@pytest.mark.parametrize("kind", ["regression", "binary", "multiclass"])
def test_trains_resumes_evaluates_and_predicts(tmp_path, monkeypatch, kind):
    write_dataset(tmp_path / "data" / "tiny", kind)
    data = grpe_dgl.data.load(tmp_path / "data" / "tiny", view=recipe().model.view)
    whole = run(recipe(), data, tmp_path / "whole")

    stop = StopRequest()

    def interrupt(update, updates, loss, rate):
        if update == 7:
            stop.signal = 2

    with pytest.raises(Stopped):
        run(recipe(), data, tmp_path / "cut", stop=stop, callbacks=Callbacks(step=interrupt))
    resumed = run(recipe(), data, tmp_path / "cut")
    assert resumed["splits"] == whole["splits"] and resumed["updates"] == 15
    ours, theirs = (load_checkpoint(tmp_path / name / "last.ckpt").weights for name in ("whole", "cut"))
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)

    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["evaluate", "whole/best.ckpt", "--split", "test", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)[whole["metric"]] == pytest.approx(whole["splits"]["test"])
    result = CliRunner().invoke(main, ["predict", "whole/best.ckpt", "data/tiny", "--split", "test"])
    assert result.exit_code == 0 and len(result.stdout.splitlines()) > 4
    result = CliRunner().invoke(main, ["info", "whole/best.ckpt"])
    assert "sum, a sum of neighbours, 6 wide" in result.stdout


def test_what_a_family_cannot_do_is_an_error_and_settings_are_checked(tmp_path, monkeypatch):
    write_dataset(tmp_path / "data" / "tiny", "regression")
    data = grpe_dgl.data.load(tmp_path / "data" / "tiny", view=recipe().model.view)
    run(recipe(epochs=1), data, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["fingerprint", "run/best.ckpt", "data/tiny", "--out", "x.csv"])
    assert result.exit_code == 1 and "the family sum, which has no fingerprints" in result.output
    result = CliRunner().invoke(main, ["export", "run/best.ckpt", "--out", "x"])
    assert result.exit_code == 1 and "models of the family sum cannot be exported" in result.output
    assert "accepted: grpe, gt, san, egt, graphormer" in result.output
    with pytest.raises(InputError, match="model.hidden_size is 0; accepted: 1 or more"):
        recipe().override({"model.hidden_size": 0})
    with pytest.raises(InputError, match=r"model.layers is not a key .*accepted in model: name, hidden_size, dropout"):
        recipe().override({"model.layers": 2})
    with pytest.raises(InputError, match=r"model.name is 'sun' \(did you mean sum\?\); accepted: grpe.*, sum"):
        recipe().override({"model.name": "sun"})


def test_fine_tunes_with_a_new_head(tmp_path, monkeypatch):
    write_dataset(tmp_path / "data" / "tiny", "regression")
    write_dataset(tmp_path / "data" / "other", "binary")
    data = grpe_dgl.data.load(tmp_path / "data" / "tiny", view=recipe().model.view)
    run(recipe(epochs=1), data, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sum.yaml").write_text(
        "dataset: other\nmodel: {name: sum, hidden_size: 6}\ntraining: {batch_size: 4, epochs: 1}\n"
    )
    result = CliRunner().invoke(main, ["finetune", "--from", "run/best.ckpt", "sum.yaml"])
    assert result.exit_code == 0, result.output
    assert load_checkpoint("runs/finetune_other/best.ckpt").weights["head.weight"].shape == (3, 6)

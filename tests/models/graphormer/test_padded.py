"""Graphormer on padded batches: the same numbers as on pair graphs, and export."""

import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.errors import InputError
from grpe_dgl.export.module import padded
from grpe_dgl.models.graphormer.settings import GraphormerSettings
from grpe_dgl.padded import PaddedBatch
from grpe_dgl.schema import Schema
from tests.cli.invoke import grpe
from tests.models.test_transformers import molecule_checkpoint
from tests.training.tiny import TASKS, write_dataset

SETTINGS = GraphormerSettings(layers=2, hidden_size=16, num_heads=2, ffn_size=16, path_edges=3)


@pytest.mark.parametrize("kind", ["regression", "multiclass"])
def test_padded_batches_give_the_same(kind, tmp_path):
    data = grpe_dgl.data.load(write_dataset(tmp_path / "tiny", kind), view=SETTINGS.view)
    model = build_model(SETTINGS, data.schema).double().eval()
    pairs = data.batch(np.arange(9)).graph
    nodes, relation, mask = padded(pairs)
    with torch.no_grad():
        found, expected = model(PaddedBatch(nodes, relation, mask)), model(pairs)
    if kind == "multiclass":
        mask[:, 0] = False
        found = found[mask]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.slow  # tracing a model takes a minute
def test_exports(tmp_path):
    pytest.importorskip("onnxruntime")
    checkpoint = molecule_checkpoint("graphormer", tmp_path / "m.ckpt")
    grpe("export", checkpoint, "--out", tmp_path / "exported")
    assert (tmp_path / "exported" / "model.json").is_file()


@pytest.mark.parametrize(
    ("columns", "edges", "tables", "message"),
    [
        ((5, 5), (3,), "zinc", "model.tables is 'zinc' and the data has 2 node and 1 edge columns"),
        ((63,), (3,), "zinc", r"node_vocabulary is \[63\] and model.tables 'zinc'; accepted: columns of up to 62"),
        ((5,), (4, 600), "ogb", r"edge_columns is \[4, 600\] and model.tables 'ogb'; accepted: columns of up to 509"),
    ],
)
def test_columns_that_the_tables_have_no_room_for(columns, edges, tables, message):
    settings = GraphormerSettings(layers=1, hidden_size=4, num_heads=1, ffn_size=4, tables=tables)
    schema = Schema(
        name="x", task=TASKS["regression"], vocabulary="custom", node_vocabulary=columns, edge_columns=edges
    )
    with pytest.raises(InputError, match=message):
        build_model(settings, schema)

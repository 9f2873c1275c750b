"""Padded batches straight from the arrays are the pair graphs, padded."""

import dataclasses
import types

import dgl
import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.data.batching import padded as padded_module
from grpe_dgl.data.batching.collate import collate
from grpe_dgl.data.batching.padded import collate_padded, relation_dtype
from grpe_dgl.data.batching.parts import Division, collate_parts, rows_in_order
from grpe_dgl.data.batching.slices import Slices
from grpe_dgl.data.encodings.prepare import prepare_encodings
from grpe_dgl.errors import InputError
from grpe_dgl.export.module import padded, relations_of
from grpe_dgl.views import GraphView, PairView
from tests.training.tiny import write_dataset

VIEW = PairView(max_distance=2)
# Both directions of an edge; a self-loop; two edges from 0 to 1.
EDGES = [([0, 1, 1], [1, 0, 2]), ([0, 1], [1, 1]), ([0, 0], [1, 1])]


@pytest.fixture(scope="module", params=["regression", "multiclass"])
def data(request, tmp_path_factory):
    return grpe_dgl.data.load(write_dataset(tmp_path_factory.mktemp("data") / "tiny", request.param))


@pytest.fixture(params=["kernel", "numpy"])
def either_way(request, monkeypatch):
    """Batches are filled by the compiled kernel, or as in a process that has not loaded numba."""
    monkeypatch.setattr(padded_module, "worth_loading", lambda size, few: request.param == "kernel")


@pytest.mark.usefixtures("either_way")
def test_equals_the_pair_graph(data):
    index = np.array([3, 0, 17, 9])
    batch = collate_padded(data.store, Slices.of(data.store, index), VIEW)
    nodes, relation, mask = padded(collate(data.store, index, VIEW).graph)
    assert torch.equal(batch.mask, mask) and batch.relation.dtype == torch.uint8
    assert torch.equal(batch.nodes.long(), nodes) and torch.equal(batch.relation.long(), relation)


def test_of_a_graph_view_edges_count_as_they_are_given(tmp_path):
    data = grpe_dgl.data.load(write_dataset(tmp_path / "tiny", "regression", simple=True))
    index = np.array([3, 0, 17, 9])
    batch = collate_padded(data.store, Slices.of(data.store, index), GraphView())
    graph = collate(data.store, index, GraphView()).graph
    nodes, relation, mask = padded(graph, relations_of(GraphView(), data.schema))
    assert torch.equal(batch.mask, mask) and torch.equal(batch.nodes.long(), nodes)
    is_edge = relation < data.schema.num_edge_types
    assert torch.equal(batch.relation.long()[is_edge], relation[is_edge])
    real = mask.unsqueeze(-1) & mask.unsqueeze(-2)
    assert int((batch.relation < data.schema.num_edge_types)[real].sum()) == graph.num_edges()


def test_a_graph_view_has_no_place_for_self_loops_and_parallel_edges(tmp_path):
    graphs = [dgl.graph((torch.tensor(src), torch.tensor(dst)), num_nodes=3) for src, dst in EDGES]
    for graph in graphs:
        graph.ndata["feat"] = torch.zeros(3, 1, dtype=torch.int64)
        graph.edata["feat"] = torch.zeros(graph.num_edges(), dtype=torch.int64)
    grpe_dgl.data.write(
        tmp_path / "own", graphs, np.zeros((3, 1)), {"train": range(3)}, task="regression", node_vocabulary=(1,)
    )
    store = grpe_dgl.data.load(tmp_path / "own").store
    for number, has_place in enumerate([True, False, False]):
        slices = Slices.of(store, np.array([number]))
        if has_place:
            collate_padded(store, slices, GraphView())
        else:
            with pytest.raises(
                InputError, match=f"graph {number} has self-loops or parallel edges, .* accepted: at most"
            ):
                collate_padded(store, slices, GraphView())


@pytest.mark.parametrize("count, dtype", [(256, np.uint8), (257, np.int16), (2**15, np.int16), (2**15 + 1, np.int32)])
def test_relations_are_stored_in_the_smallest_type(count, dtype):
    assert relation_dtype(count) == dtype
    assert np.iinfo(dtype).max >= count - 1


@pytest.mark.parametrize("padded_batches", [False, True])
@pytest.mark.parametrize("micro_batch_size", [None, 3])
def test_parts_hold_every_graph_once_and_their_rows_are_put_in_order(data, padded_batches, micro_batch_size):
    index = np.array([3, 0, 17, 9, 11, 5, 2])
    division = Division(padded=padded_batches, micro_batch_size=micro_batch_size)
    batch = collate_parts(data.store, index, VIEW, division)
    assert sorted(np.concatenate([part.places for part in batch.parts])) == list(range(7))
    assert max(len(part.places) for part in batch.parts) <= (micro_batch_size or 7)
    assert len(batch.parts) > 1 or not (padded_batches or micro_batch_size)
    # The parts' own labels stand for outputs: in order, they are the labels of the batch.
    per_node = data.task.level == "node"
    labels = [part.label if part.label.dim() > 1 else part.label.unsqueeze(-1) for part in batch.parts]
    if per_node and padded_batches:
        labels = [part.label.unsqueeze(-1) for part in batch.parts]
    whole = collate(data.store, index, VIEW).label
    found = rows_in_order([part.placement for part in batch.parts], labels, per_node=per_node)
    torch.testing.assert_close(found, whole if whole.dim() > 1 else whole.unsqueeze(-1), equal_nan=True)


def test_labels_of_virtual_nodes_and_padding_are_missing(tmp_path):
    data = grpe_dgl.data.load(write_dataset(tmp_path / "tiny", "multiclass"))
    (part,) = collate_parts(data.store, np.array([0, 1]), VIEW, Division(padded=True, most_groups=1)).parts
    assert part.label.shape == part.graph.mask.shape
    assert (part.label[:, 0] == -1).all() and (part.label[~part.graph.mask] == -1).all()


def changed(data, **arrays):
    """Return the dataset's arrays with some replaced."""
    store = data.store
    names = (
        "node_offsets",
        "edge_offsets",
        "pair_offsets",
        "node_feat",
        "src",
        "dst",
        "edge_type",
        "distance",
        "label",
    )
    copy = types.SimpleNamespace(path=store.path, schema=store.schema, **{name: getattr(store, name) for name in names})
    copy.__dict__.update(arrays)
    return copy


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize(
    ("array", "value", "message"),
    [
        ("node_feat", 5, "a node feature outside its column's values"),
        ("edge_type", 3, "an edge type outside the schema's"),
        ("src", 100, "an edge to a node that does not exist"),
    ],
)
def test_what_a_gpu_could_not_look_up_is_refused(data, array, value, message):
    values = getattr(data.store, array).copy()
    first = int(data.store.node_offsets[4] if array == "node_feat" else data.store.edge_offsets[4])
    values[first] = value
    arrays = changed(data, **{array: values})
    slices = Slices.of(data.store, np.array([2, 4]))
    with pytest.raises(InputError, match=f"is corrupt: graph 4 has {message}"):
        collate_padded(arrays, slices, VIEW)
    collate_padded(arrays, Slices.of(data.store, np.array([2, 3])), VIEW)


@pytest.mark.usefixtures("either_way")
def test_a_view_without_virtual_nodes_and_with_an_encoding(data):
    view = dataclasses.replace(VIEW, virtual_node=False, encodings=("spectrum:3",))
    prepare_encodings(data.store, view.encodings)
    index = np.array([3, 0, 17, 9])
    batch = collate_padded(data.store, Slices.of(data.store, index), view)
    expected = padded(collate(data.store, index, view).graph)
    assert batch.nodes.shape[1] == data.num_real_nodes(index).max() and batch.descriptors is None
    for found, other in zip(batch.tensors(), expected, strict=True):
        torch.testing.assert_close(found.to(other.dtype), other, rtol=0, atol=0, equal_nan=True)
    moved = batch.to("meta")
    assert moved.descriptors is None and moved.encoding_values.shape == (4, 3) and moved.encoding.is_meta
    (part,) = collate_parts(data.store, index, view, Division(padded=True, most_groups=1)).parts
    if data.task.level == "node":
        assert part.label.shape == batch.mask.shape and (part.label[~part.graph.mask] == -1).all()
        found = rows_in_order([part.placement], [part.label.unsqueeze(-1)], per_node=True)
        assert torch.equal(found.squeeze(-1), collate(data.store, index, view).label)


def test_which_devices_a_model_computes_on():
    cpu, other = torch.device("cpu"), torch.device("cuda")
    assert Division.on(cpu, takes_padded=True) == Division()
    assert Division.on(other, takes_padded=True).padded
    assert Division.on(cpu, takes_padded=True, padded=True).padded
    assert Division.on(other, takes_padded=True, in_one_piece=True).most_groups == 1
    with pytest.raises(InputError, match=r"on a DGLGraph: it needs DGL on cuda, and this DGL \(.*\) is built without"):
        Division.on(other, takes_padded=False)
    with pytest.raises(InputError, match="training.micro_batch_size is 4, .*batch norm.*; accepted: null"):
        Division.on(cpu, takes_padded=True, in_one_piece=True, micro_batch_size=4)
    with pytest.raises(InputError, match="which this model does not take"):
        Division.on(cpu, takes_padded=False, padded=True)


def test_no_dgl_graph_leaves_the_cpu(data):
    batch = collate(data.store, np.array([0, 1]), VIEW)
    assert batch.to("cpu") is batch
    with pytest.raises(InputError, match="this batch is a DGLGraph, which needs DGL on meta"):
        batch.to("meta")

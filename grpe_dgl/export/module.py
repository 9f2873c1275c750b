"""The model as a function of tensors alone."""

from typing import Any, NamedTuple

import dgl
import torch
from torch import Tensor, nn

from grpe_dgl.checkpoint.target_units import to_predictions
from grpe_dgl.models.model import GraphModel
from grpe_dgl.padded import PaddedBatch
from grpe_dgl.relations import Relations
from grpe_dgl.schema import Schema
from grpe_dgl.views import DESCRIPTORS, ENCODINGS, Encoding, View, padded_view

READ_VALUES = ("spectrum",)
"""The kinds of encodings of nodes whose numbers per graph a model that can be exported reads."""


class PaddedModel(nn.Module):
    """Predict padded batches: B graphs of up to N nodes; a view with a virtual node has it as node 0 of each.

    Parameters
    ----------
    model
        A model that takes padded batches, on the CPU, with the backend ``"dense"``.
    schema
        Of the data it was trained on.
    view
        What it reads; its encodings are further inputs (`encoding_inputs`).
    """

    def __init__(self, model: GraphModel, schema: Schema, view: View) -> None:
        super().__init__()
        self.model = model
        self._schema = schema
        self._fields = tuple(entry.field for entry in encoding_inputs(view))

    def forward(self, nodes: Tensor, relation: Tensor, mask: Tensor, *encodings: Tensor) -> Tensor:
        """Return predictions as `grpe_dgl.inference.Predictor.predict` does.

        Parameters
        ----------
        nodes
            (B, N, F) int64, or float32 for continuous features; anything valid for a virtual node and for padding.
        relation
            (B, N, N) int64: row = query, column = key.
        mask
            (B, N) bool: True where a node is real or virtual, False where it is padding.
        encodings
            float32, as `encoding_inputs` lists them.

        Returns
        -------
        Tensor
            (B, outputs) float32; for a node task (B, N, outputs), of which the rows of virtual nodes and
            padding mean nothing.
        """
        fields = dict(zip(self._fields, encodings, strict=True))
        return to_predictions(self.model(PaddedBatch(nodes, relation, mask, **fields)), self._schema)


class EncodingInput(NamedTuple):
    """An input of an exported model that holds an encoding of the graphs."""

    name: str
    """Of the input: the encoding's kind, KIND_values for its numbers per graph, or descriptors."""
    field: str
    """Its place in a `PaddedBatch`."""
    encoding: Encoding
    per_node: bool
    """Whether it has the shape (B, N, columns); if not, (B, size)."""


def encoding_inputs(view: View) -> list[EncodingInput]:
    """Return the inputs that a model with this view takes after nodes, relation and mask."""
    found = []
    for encoding in map(Encoding.parse, view.encodings):
        if encoding.kind in DESCRIPTORS:
            found.append(EncodingInput("descriptors", "descriptors", encoding, per_node=False))
            continue
        found.append(EncodingInput(encoding.kind, "encoding", encoding, per_node=True))
        if encoding.kind in READ_VALUES:
            found.append(EncodingInput(f"{encoding.kind}_values", "encoding_values", encoding, per_node=False))
    return found


def relations_of(view: View, schema: Schema) -> Relations:
    """Return the codes of the input ``relation`` of a model with this view."""
    return Relations(padded_view(view).max_distance, schema.num_edge_types)


def padded(pairs: Any, relations: Relations | None = None) -> tuple[Tensor, ...]:
    """Return nodes, relation and mask of a batch of complete pair graphs, as `PaddedModel` takes them.

    And the encodings and descriptors of the graphs, where the batch has some. `relations` is needed for a batch of
    graphs that are no pair graphs: their codes.
    """
    sizes = pairs.batch_num_nodes().tolist()
    feat = pairs.ndata["feat"]
    codes = pairs.edata["relation"] if "relation" in pairs.edata else _pair_codes(pairs, relations)
    most = max(sizes)
    nodes = feat.new_zeros(len(sizes), most, feat.shape[-1])
    relation = torch.zeros(len(sizes), most, most, dtype=torch.int64)
    mask = torch.zeros(len(sizes), most, dtype=torch.bool)
    kinds = [kind for kind in ENCODINGS if kind in pairs.ndata and kind not in DESCRIPTORS]
    encodings = [torch.zeros(len(sizes), most, pairs.ndata[kind].shape[-1]) for kind in kinds]
    first = pair = 0
    for graph, n in enumerate(sizes):
        nodes[graph, :n] = feat[first : first + n]
        relation[graph, :n, :n] = codes[pair : pair + n * n].view(n, n)
        mask[graph, :n] = True
        for kind, encoding in zip(kinds, encodings, strict=True):
            encoding[graph, :n] = pairs.ndata[kind][first : first + n]
        first, pair = first + n, pair + n * n
    valued = (*READ_VALUES, *DESCRIPTORS)
    found = [pairs.ndata[f"{kind}_values"] for kind in valued if f"{kind}_values" in pairs.ndata]
    firsts = torch.tensor([0, *sizes[:-1]]).cumsum(0)
    return nodes, relation, mask, *encodings, *(values[firsts] for values in found)


def _pair_codes(graphs: Any, relations: Relations | None) -> Tensor:
    """Return the code of every pair of a batch of graphs, query by query, (pairs,): of its edge, itself or none."""
    assert relations is not None
    found = []
    for graph in dgl.unbatch(graphs):
        keys, queries = graph.edges(order="eid")
        codes = torch.full((graph.num_nodes(), graph.num_nodes()), relations.num_edge_types + relations.spd_far)
        codes.fill_diagonal_(relations.own)
        codes[queries, keys] = graph.edata["feat"]
        found.append(codes.flatten())
    return torch.cat(found)

"""The model as a function of tensors alone."""

from typing import Any

import torch
from torch import Tensor, nn

from grpe_dgl.checkpoint.target_units import to_predictions
from grpe_dgl.models.model import GraphModel
from grpe_dgl.padded import PaddedBatch
from grpe_dgl.schema import Schema
from grpe_dgl.views import DESCRIPTORS


class PaddedModel(nn.Module):
    """Predict padded batches: B graphs of up to N nodes, the virtual node being node 0 of each.

    Parameters
    ----------
    model
        A model that takes padded batches, on the CPU, with the backend ``"dense"``.
    schema
        Of the data it was trained on.
    """

    def __init__(self, model: GraphModel, schema: Schema) -> None:
        super().__init__()
        self.model = model
        self._schema = schema

    def forward(self, nodes: Tensor, relation: Tensor, mask: Tensor, descriptors: Tensor | None = None) -> Tensor:
        """Return predictions as `grpe_dgl.inference.Predictor.predict` does.

        Parameters
        ----------
        nodes
            (B, N, F) int64, or float32 for continuous features; anything valid for node 0 and for padding.
        relation
            (B, N, N) int64: row = query, column = key.
        mask
            (B, N) bool: True where a node is real or virtual, False where it is padding.
        descriptors
            (B, D) float32, for models that read descriptors of molecules: as RDKit has them, NaN where missing.

        Returns
        -------
        Tensor
            (B, outputs) float32; for a node task (B, N, outputs), of which row 0, the virtual node's, means nothing.
        """
        return to_predictions(self.model(PaddedBatch(nodes, relation, mask, descriptors)), self._schema)


def padded(pairs: Any) -> tuple[Tensor, ...]:
    """Return nodes, relation and mask of a batch of complete pair graphs, as `PaddedModel` takes them.

    And the descriptors of the graphs, where the batch has some.
    """
    sizes = pairs.batch_num_nodes().tolist()
    feat = pairs.ndata["feat"]
    most = max(sizes)
    nodes = feat.new_zeros(len(sizes), most, feat.shape[-1])
    relation = torch.zeros(len(sizes), most, most, dtype=torch.int64)
    mask = torch.zeros(len(sizes), most, dtype=torch.bool)
    first = pair = 0
    for graph, n in enumerate(sizes):
        nodes[graph, :n] = feat[first : first + n]
        relation[graph, :n, :n] = pairs.edata["relation"][pair : pair + n * n].view(n, n)
        mask[graph, :n] = True
        first, pair = first + n, pair + n * n
    found = [pairs.ndata[f"{kind}_values"] for kind in DESCRIPTORS if f"{kind}_values" in pairs.ndata]
    firsts = torch.tensor([0, *sizes[:-1]]).cumsum(0)
    return nodes, relation, mask, *(values[firsts] for values in found)

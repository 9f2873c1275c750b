"""Positional encodings of nodes as part of a model's input."""

import dgl
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.models.message_passing import require_data
from grpe_dgl.models.random_signs import random_signs
from grpe_dgl.views import Encoding

UNSIGNED = ("random_walk",)  # of every other kind the vectors' signs mean nothing


class PositionalEncoding(nn.Linear):
    """A linear map with bias from a positional encoding to `hidden_size`.

    In training every eigenvector is multiplied by a random sign, one per vector and batch; of `svd` the left and the
    right vector of a pair get the same. Vectors that a small graph does not have are zeros.

    Parameters
    ----------
    encoding
        Its name in a view: ``laplacian:8``.
    hidden_size
        Width of the result.
    """

    def __init__(self, encoding: str, hidden_size: int) -> None:
        parsed = Encoding.parse(encoding, key="model.encoding")
        super().__init__(parsed.columns, hidden_size)
        self.kind, self.size = parsed

    def forward(self, graph: dgl.DGLGraph) -> Tensor:
        """Return (N, hidden_size) for a graph with ``ndata[kind]``, (N, columns)."""
        require_data(graph, "ndata", (self.kind,))
        x = graph.ndata[self.kind].to(self.weight.dtype)
        if self.training and self.kind not in UNSIGNED:
            x = x * random_signs(self.size, like=x).repeat(self.in_features // self.size)
        return F.linear(x, self.weight, self.bias)

"""GAT of benchmarking-gnns: graph attention with batch norm and residual connections."""

from typing import ClassVar, Self

import dgl
from dgl.nn.pytorch import GATConv
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.models.batch_norm import BatchNorm
from grpe_dgl.models.benchmark_model import BenchmarkModel
from grpe_dgl.models.gat.settings import GATSettings
from grpe_dgl.schema import Schema


class GATLayer(nn.Module):
    """One graph attention, `dgl.nn.GATConv`, whose heads are joined.

        a_uv = softmax_u LeakyReLU(<a_l, W h_u> + <a_r, W h_v>)
        h_v <- h_v + ELU(BN(sum_u a_uv W h_u + b))

    over the edges u -> v, without self-loops. Dropout acts on the convolution's input and on a_uv. The bias b is
    part of today's `GATConv`; the published parameter counts, 176 a layer less, are those of a DGL version without.
    """

    def __init__(self, hidden_size: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        self.convolution = GATConv(
            hidden_size, hidden_size // num_heads, num_heads, dropout, dropout, allow_zero_in_degree=True
        )
        self.norm = BatchNorm(hidden_size)

    def forward(self, graph: dgl.DGLGraph, x: Tensor) -> Tensor:
        """Return new node states for x, (N, hidden_size)."""
        return x + F.elu(self.norm(self.convolution(graph, x).flatten(1)))

    def weights(self, graph: dgl.DGLGraph, x: Tensor) -> Tensor:
        """Return a_uv of every edge, (M, H)."""
        return self.convolution(graph, x, get_attention=True)[1].squeeze(-1)


class GAT(BenchmarkModel):
    """GAT (Velickovic et al.) as *Benchmarking Graph Neural Networks* trains it; edge features are not read.

    The last layer has one head of the full width.
    """

    has_attention: ClassVar = True

    @classmethod
    def from_settings(cls, settings: GATSettings, schema: Schema, *, backend: str | None = None) -> Self:
        """Build the model for data of a schema."""
        heads = [settings.num_heads] * (settings.layers - 1) + [1]
        return cls(settings, schema, (GATLayer(settings.hidden_size, count, settings.dropout) for count in heads))

    def _attention(self, graph: dgl.DGLGraph) -> list[Tensor]:
        """Return the weights of every layer, (M, H) each."""
        states = [self.embed(graph), *self.encode(graph)[:-1]]
        found = []
        for layer, x in zip(self.layers, states, strict=True):
            assert isinstance(layer, GATLayer)
            found.append(layer.weights(graph, x))
        return found

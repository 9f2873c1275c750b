"""The learned positional encoding of SAN: a transformer over the spectrum of each node."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.models.san.encoding_layer import EncodingLayer

NODES_AT_A_TIME = 64
"""On the CPU, other than in an exported model: with 10 eigenvectors and an FFN of 2048, 5 MB inside the FFN instead of
hundreds."""


class SpectralEncoding(nn.Module):
    """Encode each node by its entries of the first m eigenvectors and their eigenvalues.

    A node's entries are divided by their norm; the m pairs (entry, eigenvalue) pass a linear map and a transformer
    encoder (post-norm, ReLU), and are summed. Missing frequencies, of graphs with fewer than m nodes, take no part.

    Parameters
    ----------
    size
        Width of the encoding.
    layers, num_heads, ffn_size, dropout
        Of the transformer encoder.
    """

    def __init__(self, size: int, *, layers: int, num_heads: int, ffn_size: int, dropout: float) -> None:
        super().__init__()
        self.input = nn.Linear(2, size)
        layer = EncodingLayer(size, num_heads, ffn_size, dropout, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, vectors: Tensor, values: Tensor) -> Tensor:
        """Return (..., size) for `vectors` and `values`, (..., m) each; values are NaN where a frequency is missing.

        Every node has a frequency: the first eigenvalue of a graph is 0.
        """
        missing = values.isnan()
        entries = F.normalize(vectors.masked_fill(missing, 0.0), dim=-1)
        sequence = self.input(torch.stack([entries, values.masked_fill(missing, 0.0)], -1))  # (..., m, size)
        if sequence.device.type == "cpu" and not torch.compiler.is_compiling():
            sequence = self._in_pieces(sequence, missing)
        else:
            sequence = self._transform(sequence, missing)
        return sequence.masked_fill(missing.unsqueeze(-1), 0.0).sum(-2)

    def _in_pieces(self, sequence: Tensor, missing: Tensor) -> Tensor:
        """Return what `_transform` does; nodes are independent of each other, and pieces of them stay in the cache."""
        rows, none = sequence.flatten(0, -3), missing.flatten(0, -2)
        pieces = zip(rows.split(NODES_AT_A_TIME), none.split(NODES_AT_A_TIME), strict=True)
        return torch.cat([self._transform(*piece) for piece in pieces]).view(sequence.shape)

    def _transform(self, sequence: Tensor, missing: Tensor) -> Tensor:
        for layer in self.transformer.layers:
            sequence = layer(sequence, missing)
        return sequence

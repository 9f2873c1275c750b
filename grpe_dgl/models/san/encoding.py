"""The learned positional encoding of SAN: a transformer over the spectrum of each node."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.models.san.wide_ffn import EncodingLayer

NODES_AT_A_TIME = 64
"""On the CPU: with 10 eigenvectors and an FFN of 2048, 5 MB inside the FFN instead of hundreds."""


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
        """Return (N, size) for `vectors` and `values`, (N, m) each; values are NaN where a frequency is missing."""
        missing = values.isnan()
        entries = F.normalize(vectors.masked_fill(missing, 0.0), dim=-1)
        sequence = self.input(torch.stack([entries, values.masked_fill(missing, 0.0)], -1))  # (N, m, size)
        if sequence.device.type == "cpu":  # nodes are independent of each other: pieces stay in the cache
            pieces = zip(sequence.split(NODES_AT_A_TIME), missing.split(NODES_AT_A_TIME), strict=True)
            sequence = torch.cat([self.transformer(piece, src_key_padding_mask=none) for piece, none in pieces])
        else:
            sequence = self.transformer(sequence, src_key_padding_mask=missing)
        return sequence.masked_fill(missing.unsqueeze(-1), 0.0).sum(1)

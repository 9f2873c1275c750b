"""One block of Graphormer."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.models.padding import Padding


class GraphormerLayer(nn.Module):
    """Pre-norm transformer block with an additive bias per pair and head.

    ::

        x = x + Dropout(Attention(LayerNorm(x), bias))
        x = x + Dropout(FFN(LayerNorm(x)))        FFN = Linear, exact GELU, Linear

    ``dgl.nn.GraphormerLayer`` computes the same on padded tensors; here nodes are ragged outside of the attention.

    Parameters
    ----------
    hidden_size, num_heads, ffn_size
        Width of x, number of heads H, width inside the FFN.
    dropout, attention_dropout
        Of both branches, and of the attention weights; in training only.
    """

    def __init__(
        self, hidden_size: int, num_heads: int, ffn_size: int, *, dropout: float, attention_dropout: float
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.attention_dropout = attention_dropout
        self.attention_norm = nn.LayerNorm(hidden_size)
        self.query_key_value = nn.Linear(hidden_size, 3 * hidden_size)
        self.output = nn.Linear(hidden_size, hidden_size)
        self.ffn_norm = nn.LayerNorm(hidden_size)
        self.ffn = nn.Sequential(nn.Linear(hidden_size, ffn_size), nn.GELU(), nn.Linear(ffn_size, hidden_size))
        self.dropout = nn.Dropout(dropout)

    def forward(self, padding: Padding, x: Tensor, bias: Tensor) -> Tensor:
        """Return the block's output, of the shape of x, (nodes, hidden_size) or padded; `bias` is (B, H, N, N)."""
        x = x + self.dropout(self._attend(padding, self.attention_norm(x), bias))
        return x + self.dropout(self.ffn(self.ffn_norm(x)))

    def weights(self, padding: Padding, x: Tensor, bias: Tensor) -> Tensor:
        """Return the attention weights of the block for its input x, without dropout, (pairs, H)."""
        weights, _ = self._weights_and_values(padding, self.attention_norm(x), bias)
        return padding.unpad_pairs(weights.permute(0, 2, 3, 1))

    def _weights_and_values(self, padding: Padding, x: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Return (B, H, N, N) and (B, H, N, D)."""
        qkv = padding.pad(self.query_key_value(x)).unflatten(-1, (3, self.num_heads, -1))  # (B, N, 3, H, D)
        q, k, v = torch.unbind(qkv.permute(2, 0, 3, 1, 4))  # (B, H, N, D) each
        # Not F.scaled_dot_product_attention: a bias with a gradient rules out its fast kernels, and its layout export.
        return (q * q.shape[-1] ** -0.5 @ k.transpose(-1, -2) + bias).softmax(-1), v

    def _attend(self, padding: Padding, x: Tensor, bias: Tensor) -> Tensor:
        weights, v = self._weights_and_values(padding, x, bias)
        z = F.dropout(weights, self.attention_dropout, self.training) @ v.to(weights.dtype)
        return self.output(padding.unpad(z.transpose(1, 2).flatten(-2)))

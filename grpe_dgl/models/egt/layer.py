"""One block of EGT: nodes attend to nodes, and pairs learn from the attention scores."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.models.egt import pair_rows
from grpe_dgl.models.padding import Padding
from grpe_dgl.ops.gated_attention import gated_attention


class FeedForward(nn.Sequential):
    """LayerNorm, Linear, ELU, Linear."""

    def __init__(self, width: int, inner: int, epsilon: float) -> None:
        super().__init__(nn.LayerNorm(width, eps=epsilon), nn.Linear(width, inner), nn.ELU(), nn.Linear(inner, width))


class EGTLayer(nn.Module):
    r"""Gated attention with an edge channel.

    For nodes x and pair states e, in every head, with y = LN(x) and f = LN(e)::

        s_ij = clip(q_i . k_j / sqrt(D), -5, 5) + b(f_ij)
        g_ij = sigmoid(c(f_ij))
        z_i  = sum_j softmax_j(s_ij) g_ij v_j          times log(1 + sum_j g_ij) with `scale_degree`
        x_i  = x_i + O(z_i),  x = x + FFN(x)
        e_ij = e_ij + R(s_ij),  e = e + FFN(e)          all heads of s together; not in the last layer

    Of q, k, v and z the head is the fastest index (feature d of head h is d H + h), as in the authors' code.

    Parameters
    ----------
    hidden_size, edge_size, num_heads
        Widths of x and e, and H.
    node_inner, edge_inner
        Widths inside the FFNs.
    epsilon
        Of the layer norms.
    scale_degree
        See above; virtual nodes, the first `virtual_nodes` of each graph, are not scaled.
    virtual_nodes
        How many there are.
    attention_dropout
        Of the gated weights, in training.
    random_mask
        The probability that a head does not see a key, in training.
    update_edges
        Whether e is updated.
    """

    def __init__(
        self,
        hidden_size: int,
        edge_size: int,
        num_heads: int,
        *,
        node_inner: int,
        edge_inner: int,
        epsilon: float,
        scale_degree: bool,
        virtual_nodes: int,
        attention_dropout: float,
        random_mask: float,
        update_edges: bool,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.scale_degree = scale_degree
        self.virtual_nodes = virtual_nodes
        self.attention_dropout = attention_dropout
        self.random_mask = random_mask
        self.node_norm = nn.LayerNorm(hidden_size, eps=epsilon)
        self.edge_norm = nn.LayerNorm(edge_size, eps=epsilon)
        self.query_key_value = nn.Linear(hidden_size, 3 * hidden_size)
        self.edge_bias = nn.Linear(edge_size, num_heads)
        self.gate = nn.Linear(edge_size, num_heads)
        self.output = nn.Linear(hidden_size, hidden_size)
        self.node_ffn = FeedForward(hidden_size, node_inner, epsilon)
        self.edge_output = nn.Linear(num_heads, edge_size) if update_edges else None
        self.edge_ffn = FeedForward(edge_size, edge_inner, epsilon) if update_edges else None

    def forward(self, padding: Padding, x: Tensor, e: Tensor, unseen: Tensor) -> tuple[Tensor, Tensor]:
        """Return x and e after the block.

        Parameters
        ----------
        padding
            The batch's.
        x, e
            (nodes, hidden_size) and (pairs, edge_size), or both padded.
        unseen
            Bool, broadcast to (B, H, N, N): keys that a query does not see, as they are padding.
        """
        if padding.nodes is not None and pair_rows.in_pieces(e):
            z, scores = self._attend_ragged(padding, x, e)
        else:
            scores, v, gates = self._scores(padding, x, e)
            gates = padding.pad_pairs(gates.sigmoid()).permute(0, 3, 1, 2)  # (B, H, N, N)
            z = self._attend(padding, scores, gates, v, unseen)
        x = x + self.output(z)
        x = x + self.node_ffn(x)
        if self.edge_output is not None and self.edge_ffn is not None:
            e = pair_rows.update(e, scores, self.edge_output, self.edge_ffn)
        return x, e

    def weights(self, padding: Padding, x: Tensor, e: Tensor, unseen: Tensor) -> Tensor:
        """Return the weights with which `forward` attends, before the gates and without dropout, (pairs, H)."""
        scores, _, _ = self._scores(padding, x, e)
        return padding.unpad_pairs(_softmax(padding, scores, unseen).permute(0, 2, 3, 1))

    def _scores(self, padding: Padding, x: Tensor, e: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return s, (pairs, H), v, (B, H, N, D), and c, (pairs, H)."""
        biases, gates = self._map_pairs(e).chunk(2, -1)
        qkv = padding.pad(self.query_key_value(self.node_norm(x))).unflatten(-1, (3, -1, self.num_heads))
        q, k, v = qkv.permute(2, 0, 4, 1, 3).unbind(0)  # (B, H, N, D) each
        products = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).clamp(-5, 5)  # (B, H, N, N)
        return padding.unpad_pairs(products.permute(0, 2, 3, 1)) + biases, v, gates

    def _map_pairs(self, e: Tensor) -> Tensor:
        """Return b and c, (pairs, 2 H)."""
        weight = torch.cat([self.edge_bias.weight, self.gate.weight])
        bias = torch.cat([self.edge_bias.bias, self.gate.bias])
        return pair_rows.norm_and_map(e, self.edge_norm, weight, bias)

    def _attend_ragged(self, padding: Padding, x: Tensor, e: Tensor) -> tuple[Tensor, Tensor]:
        """Return z, (nodes, hidden_size), and s, (pairs, H), by the kernel of `gated_attention`."""
        assert padding.nodes is not None
        z, scores, degree = gated_attention(
            padding.mask.sum(1),
            self.query_key_value(self.node_norm(x)),
            self._map_pairs(e),
            self.num_heads,
            random_mask=self.random_mask if self.training else 0.0,
            dropout=self.attention_dropout if self.training else 0.0,
        )
        if self.scale_degree:
            is_virtual = padding.nodes % padding.mask.shape[1] < self.virtual_nodes
            scale = torch.where(is_virtual[:, None], 1.0, degree.log1p())
            z = (z.unflatten(-1, (-1, self.num_heads)) * scale.unsqueeze(1)).flatten(-2)
        return z, scores

    def _attend(self, padding: Padding, scores: Tensor, gates: Tensor, v: Tensor, unseen: Tensor) -> Tensor:
        """Return z, (nodes, hidden_size)."""
        gates = gates.masked_fill(unseen, 0.0)
        if self.training and self.random_mask:
            masked = torch.rand_like(gates) < self.random_mask
            unseen = unseen | masked
            if not self.scale_degree:  # the authors' second code leaves the gates, whose sum is the scale
                gates = gates.masked_fill(masked, 0.0)
        weights = _softmax(padding, scores, unseen)
        weights = F.dropout(weights * gates, self.attention_dropout, self.training)
        z = weights @ v.to(weights.dtype)  # (B, H, N, D)
        if self.scale_degree:
            scale = gates.sum(-1, keepdim=True).log1p()
            is_virtual = torch.arange(scale.shape[2], device=scale.device) < self.virtual_nodes
            z = z * torch.where(is_virtual[:, None], 1.0, scale)
        return padding.unpad(z.permute(0, 2, 3, 1).flatten(-2))


def _softmax(padding: Padding, scores: Tensor, unseen: Tensor) -> Tensor:
    """Return the softmax of scores (pairs, H) over the keys that a query sees, (B, H, N, N)."""
    padded = padding.pad_pairs(scores).permute(0, 3, 1, 2)
    # Finite, so that a query that sees no key gets a number and not NaN.
    return padded.masked_fill(unseen, torch.finfo(padded.dtype).min).softmax(-1)

"""One block of GT: attention along the edges of the graph."""

from typing import NamedTuple

import dgl
import torch
from torch import Tensor, nn

from grpe_dgl.models.post_norm import PostNorm


class PaddedEdges(NamedTuple):
    """The edges of B graphs of up to N nodes as pairs: at most one from a node to another."""

    mask: Tensor
    """(B, N) bool: True where a node is not padding."""
    has_edge: Tensor
    """(B, N, N) bool: whether there is an edge to the row's node from the column's, neither of them padding."""


class GTLayer(nn.Module):
    r"""Attention over a graph's edges, with or without states of edges.

    For an edge j -> i with state e, in every head of size D::

        s_ij = q_i * k_j / sqrt(D) * W e_ij      elementwise, (D,); without edge states the last factor is missing
        w_ij = exp(clip(sum_d s_ij, -5, 5))
        z_i  = sum_j w_ij v_j / (sum_j w_ij + 1e-6)

    then `PostNorm` of x with z, and of e with s. The softmax has no maximum subtracted, as in the authors' code.
    Without edge states that code has no 1e-6 and gives NaN for a node without incoming edges; here z is 0.

    Parameters
    ----------
    hidden_size, num_heads
        Width of x and e, and number of heads.
    dropout
        See `PostNorm`.
    edge_features
        Whether there are edge states.
    """

    def __init__(self, hidden_size: int, num_heads: int, *, dropout: float, edge_features: bool) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query_key_value = nn.Linear(hidden_size, 3 * hidden_size, bias=False)
        self.edge = nn.Linear(hidden_size, hidden_size, bias=False) if edge_features else None
        self.node_update = PostNorm(hidden_size, dropout)
        self.edge_update = PostNorm(hidden_size, dropout) if edge_features else None

    def forward(
        self, graph: dgl.DGLGraph | PaddedEdges, x: Tensor, e: Tensor | None, *, update_edges: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        """Return x (N, hidden_size) and e (M, hidden_size) after the block; e is None without edge states.

        With `update_edges` False, e is returned as it came. Padded, x is (B, N, hidden_size) and e has a state for
        every pair, (B, N, N, hidden_size), of which those without an edge mean nothing.
        """
        if isinstance(graph, PaddedEdges):
            return self._padded(graph, x, e, update_edges)
        weights, scores, v, least = self._weights(graph, x, e)
        total = dgl.ops.copy_e_sum(graph, weights)  # (N, H, 1)
        z = dgl.ops.u_mul_e_sum(graph, v, weights) / (total + least)
        if update_edges and scores is not None and e is not None and self.edge_update is not None:
            e = self.edge_update(e, scores.flatten(-2))
        return self.node_update(x, z.flatten(-2)), e

    def _padded(
        self, edges: PaddedEdges, x: Tensor, e: Tensor | None, update_edges: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Return what `forward` does, of padded x and e."""
        q, k, v = self.query_key_value(x).unflatten(-1, (3, self.num_heads, -1)).unbind(-3)  # (B, N, H, D) each
        k = k * k.shape[-1] ** -0.5
        scores = None
        if self.edge is None or e is None:
            sums = (q.transpose(1, 2) @ k.permute(0, 2, 3, 1)).permute(0, 2, 3, 1)  # (B, N, N, H)
        else:
            scores = self.edge(e).unflatten(-1, (self.num_heads, -1)) * k.unsqueeze(1) * q.unsqueeze(2)
            sums = scores.sum(-1)
        weights = torch.where(edges.has_edge.unsqueeze(-1), sums.clamp(-5, 5).exp(), 0.0).permute(0, 3, 1, 2)
        total = weights.sum(-1, keepdim=True)
        # Without edge states no 1e-30 is added, which ONNX's optimiser would take for 0.
        total = torch.where(total > 0, total, 1.0) if scores is None else total + 1e-6
        z = weights @ v.transpose(1, 2) / total  # (B, H, N, D)
        if update_edges and scores is not None and e is not None and self.edge_update is not None:
            e = self.edge_update(e, scores.flatten(-2), edges.has_edge)
        return self.node_update(x, z.transpose(1, 2).flatten(-2), edges.mask), e

    def weights(self, graph: dgl.DGLGraph, x: Tensor, e: Tensor | None) -> Tensor:
        """Return w_ij / sum_j w_ij for the arguments of `forward`, (M, H)."""
        weights, _, _, _ = self._weights(graph, x, e)
        return dgl.ops.e_div_v(graph, weights, dgl.ops.copy_e_sum(graph, weights)).squeeze(-1)

    def _weights(self, graph: dgl.DGLGraph, x: Tensor, e: Tensor | None) -> tuple[Tensor, Tensor | None, Tensor, float]:
        """Return w, (M, H, 1), s of edge states, (M, H, D), v, (N, H, D), and what is added to the sum of w."""
        q, k, v = self.query_key_value(x).unflatten(-1, (3, self.num_heads, -1)).unbind(-3)  # (N, H, D) each
        k = k * k.shape[-1] ** -0.5
        if self.edge is None or e is None:
            return dgl.ops.u_dot_v(graph, k, q).clamp(-5, 5).exp(), None, v, 1e-30
        scores = dgl.ops.u_mul_v(graph, k, q) * self.edge(e).unflatten(-1, (self.num_heads, -1))
        return scores.sum(-1, keepdim=True).clamp(-5, 5).exp(), scores, v, 1e-6

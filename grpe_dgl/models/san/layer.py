"""One block of SAN: attention over all pairs, with other projections for pairs with an edge than for those without."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from grpe_dgl.models.padding import Padding
from grpe_dgl.models.post_norm import PostNorm


class EdgePairs(NamedTuple):
    """The P pairs of a batch that have an edge."""

    query: Tensor
    """(P,): the row of the query among the batch's nodes."""
    key: Tensor
    """(P,)."""
    place: Tensor
    """(P,): the pair's row in (B * N * N, ...)."""
    kind: Tensor
    """(P,): the edge's type."""


class PaddedPairs(NamedTuple):
    """All pairs of a padded batch."""

    has_edge: Tensor
    """(B, N, N) bool: False where a node is padding."""
    kind: Tensor
    """(B, N, N): the edge's type; anything valid where there is none."""


class SANLayer(nn.Module):
    r"""Attention of every node to all others of its graph.

    With e the vector of a pair's edge type, or that of pairs without an edge, in every head of size D::

        s_ij = sum_d q_i * k_j * W e_ij / sqrt(D)           q', k', W' for pairs without an edge
        w_ij = exp(clip(s_ij, -5, 5)) c_ij                  c = 1 / (1 + gamma) with, gamma / (1 + gamma) without edge
        z_i  = sum_j w_ij v_j / (sum_j w_ij + 1e-6)         over all j but i

    then `PostNorm`. As in the authors' code, both kinds of pairs are normalised together (in the paper: each on its
    own) and the vectors of pairs are the same in all layers. All pairs without an edge share one e, so that their
    scores are one product of matrices; only pairs with an edge are computed one by one.

    Parameters
    ----------
    hidden_size, num_heads
        Width of x, number of heads.
    gamma
        See above.
    dropout
        See `PostNorm`.
    """

    def __init__(self, hidden_size: int, num_heads: int, *, gamma: float, dropout: float) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.gamma = gamma
        # Query and key of pairs with an edge, the same of pairs without, and the value of both.
        self.projections = nn.Linear(hidden_size, 5 * hidden_size, bias=False)
        self.edge = nn.Linear(hidden_size, hidden_size, bias=False)
        self.added = nn.Linear(hidden_size, hidden_size, bias=False)
        self.update = PostNorm(hidden_size, dropout)

    def forward(
        self, padding: Padding, x: Tensor, pairs: EdgePairs | PaddedPairs, edge_table: Tensor, added_vector: Tensor
    ) -> Tensor:
        """Return x after the block, (nodes, hidden_size), or padded (B, N, hidden_size).

        Parameters
        ----------
        padding
            The batch's.
        x
            (nodes, hidden_size), or padded.
        pairs
            Those with an edge, or if x is padded all.
        edge_table
            (E, hidden_size): the vector of every edge type.
        added_vector
            (hidden_size,): that of pairs without an edge.
        """
        weights, v = self._weights_and_values(padding, x, pairs, edge_table, added_vector)
        z = weights @ v / (weights.sum(-1, keepdim=True) + 1e-6)
        return self.update(x, padding.unpad(z.transpose(1, 2).flatten(-2)), padding.counted)

    def weights(
        self, padding: Padding, x: Tensor, pairs: EdgePairs | PaddedPairs, edge_table: Tensor, added_vector: Tensor
    ) -> Tensor:
        """Return w_ij / sum_j w_ij of the arguments of `forward`, (pairs, H): zero for a node itself."""
        weights, _ = self._weights_and_values(padding, x, pairs, edge_table, added_vector)
        total = weights.sum(-1, keepdim=True)
        weights = weights / torch.where(total > 0, total, 1.0)  # the only node of a graph has no key
        return padding.unpad_pairs(weights.permute(0, 2, 3, 1))

    def _weights_and_values(
        self, padding: Padding, x: Tensor, pairs: EdgePairs | PaddedPairs, edge_table: Tensor, added_vector: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return w, (B, H, N, N), and v, (B, H, N, D)."""
        parts = self.projections(x).unflatten(-1, (5, self.num_heads, -1))  # (nodes, 5, H, D), or padded
        scale = parts.shape[-1] ** -0.5
        q, k = parts[..., 0, :, :], parts[..., 1, :, :]
        table = (self.edge(edge_table) * scale).unflatten(-1, (self.num_heads, -1))  # (E, H, D)
        if isinstance(pairs, EdgePairs):
            near = (q[pairs.query] * k[pairs.key] * table[pairs.kind]).sum(-1)  # (P, H)
        else:
            near = (q.unsqueeze(2) * k.unsqueeze(1) * table[pairs.kind]).sum(-1)  # (B, N, N, H)
        near = near.clamp(-5, 5).exp() / (1 + self.gamma)

        q, k, v = padding.pad(parts[..., 2:, :, :]).permute(2, 0, 3, 1, 4).unbind(0)  # (B, H, N, D) each
        factor = (self.added(added_vector) * scale).view(self.num_heads, 1, -1)
        far = ((q * factor) @ k.transpose(-1, -2)).clamp(-5, 5).exp() * (self.gamma / (1 + self.gamma))
        counted = padding.mask[:, None, None, :] & ~torch.eye(far.shape[-1], dtype=torch.bool, device=far.device)
        far = far * counted  # (B, H, N, N): no padding, and not a node itself

        if isinstance(pairs, PaddedPairs):
            return torch.where(pairs.has_edge.unsqueeze(1), near.permute(0, 3, 1, 2).to(far.dtype), far), v
        batch, heads, nodes, _ = far.shape
        weights = far.permute(0, 2, 3, 1).reshape(-1, heads).index_copy(0, pairs.place, near.to(far.dtype))
        return weights.view(batch, nodes, nodes, heads).permute(0, 3, 1, 2), v

"""The operation every GRPE layer is made of: its arguments are checked here and given to a backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from grpe_dgl.errors import InputError
from grpe_dgl.ops.backends import BACKENDS, choose
from grpe_dgl.ops.dense import DensePairs, padded_attention
from grpe_dgl.ops.inputs import AttentionInputs
from grpe_dgl.ops.per_graph import PerGraph

if TYPE_CHECKING:
    import dgl

KEY_TERMS = ("neighbour", "self")


def relative_attention(
    pairs: dgl.DGLGraph | DensePairs,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    query_table: Tensor | None,
    key_table: Tensor | None,
    value_table: Tensor | None,
    *,
    key_term: str = "neighbour",
    dropout: float = 0.0,
    backend: str = "auto",
) -> Tensor:
    r"""Attend from every node to its keys, with terms that depend on the relation of the two.

    For a query i and a key j with relation r = r(i, j), in every head on its own::

        a_ij = (q_i . k_j + q_i . query_table[r] + k_j . key_table[r]) / sqrt(D)
        w_ij = softmax over j of a_ij, then dropout
        z_i  = sum_j w_ij (v_j + value_table[r])

    which is Eq. 6-9 of the paper with the rows of distance and edge already added: table[r] = P[psi_r] + E[e_r].
    The products q . query_table and k . key_table are computed once per node and relation and looked up per pair, and
    the weights are summed per node and relation before they are multiplied by value_table: O(N R D) operations, and no
    tensor of shape (pairs, H, D).

    Parameters
    ----------
    pairs
        Pair graph of N nodes, edges key -> query, with integer ``edata["relation"]`` in 0..R-1, shape (M,). Or, for
        programs without DGL, `DensePairs`; then q, k, v and z are padded, (B, N, H, D).
    q, k, v
        Shape (N, H, D) each, float32 or float64. Half precision and bfloat16 are accepted too: fused and dgl compute in
        float32 and return z in the type of q, dense computes in the type it gets.
    query_table, key_table, value_table
        Shape (R, H, D) each; None leaves its term out.
    key_term
        ``"neighbour"`` as above (the paper); ``"self"`` puts k_i for k_j in the third term (the authors' code).
    dropout
        The probability that a weight is set to zero; the others are scaled by 1 / (1 - dropout).
    backend
        ``"fused"``: one CPU kernel, for complete pair graphs, which stores nothing per pair and head. ``"dense"``:
        padded batches in plain torch, for complete pair graphs on any device. ``"dgl"``: message passing, for any pair
        graph. ``"auto"``: for a complete pair graph fused on the CPU and dense on other devices, dgl for a pair graph
        that is not complete, dense for `DensePairs`.

    Returns
    -------
    Tensor
        z, shape (N, H, D). Zero for a node without any key.
    """
    if key_term not in KEY_TERMS:
        raise InputError(f"key_term is {key_term!r}; accepted: {', '.join(KEY_TERMS)}")
    if not 0.0 <= dropout < 1.0:
        raise InputError(f"dropout is {dropout}; accepted: at least 0 and less than 1")
    if backend not in BACKENDS:
        raise InputError(f"backend is {backend!r}; accepted: {', '.join(BACKENDS)}")
    inputs = AttentionInputs(q, k, v, query_table, key_table, value_table, key_term, dropout)
    if isinstance(pairs, DensePairs):
        if backend not in ("auto", "dense"):
            raise InputError(f'backend is {backend!r} and the pairs are DensePairs; accepted: "dense" or "auto"')
        return padded_attention(pairs, inputs)
    check_shapes(pairs, inputs)
    chosen = choose(backend, pairs, q.device)
    attend = chosen.load()
    if not chosen.float32_and_float64_only or q.dtype in (torch.float32, torch.float64):
        return attend(pairs, inputs)
    with torch.autocast(q.device.type, enabled=False):
        return attend(pairs, inputs.to(torch.float32)).to(q.dtype)


def relative_attention_weights(
    pairs: dgl.DGLGraph,
    q: Tensor,
    k: Tensor,
    query_table: Tensor | None,
    key_table: Tensor | None,
    *,
    key_term: str = "neighbour",
) -> Tensor:
    """Return w of `relative_attention` without dropout, shape (M, H), in the order of the pair graph's edges.

    The weights of a query sum to one in every head. The backends of `relative_attention` do not keep them; here they
    are computed by message passing, for any pair graph. Arguments are as there.
    """
    from grpe_dgl.ops.message_passing import attention_weights  # here for start-up time: it loads DGL

    inputs = AttentionInputs(q, k, k, query_table, key_table, None, key_term, 0.0)
    check_shapes(pairs, inputs)
    return attention_weights(pairs, inputs)


def check_shapes(pairs: dgl.DGLGraph, inputs: AttentionInputs) -> None:
    """Raise unless the tensors fit the pair graph, and its relations the tables."""
    q, k, v = inputs.q, inputs.k, inputs.v
    if "relation" not in pairs.edata:
        raise InputError('the pair graph has no edata["relation"]; make it with grpe_dgl.transforms.ToPairGraph')
    if q.dim() != 3 or not q.shape == k.shape == v.shape or len(q) != pairs.num_nodes():
        found = ", ".join(str(tuple(x.shape)) for x in (q, k, v))
        raise InputError(f"q, k, v have shapes {found}; accepted: (N, H, D) each, with N = {pairs.num_nodes()} nodes")
    shapes = {tuple(table.shape) for table in inputs.tables if table is not None}
    if len(shapes) > 1 or any(len(shape) != 3 or shape[1:] != q.shape[1:] for shape in shapes):
        raise InputError(
            f"tables have shapes {', '.join(map(str, sorted(shapes)))}; accepted: (R, {q.shape[1]}, {q.shape[2]}) each"
        )
    relation = pairs.edata["relation"]
    # A relation outside the tables would read another node's row. On a GPU the check would cost a synchronisation.
    if shapes and len(relation) and relation.device.type == "cpu":
        num_relations = shapes.pop()[0]
        least, most = _extremes(pairs)
        if least < 0 or most >= num_relations:
            pair = int(((relation < 0) | (relation >= num_relations)).nonzero()[0])
            raise InputError(
                f'edata["relation"] is {int(relation[pair])} at pair {pair}; accepted: 0..{num_relations - 1}, as the '
                "pair graph and the tables must be made with one max_distance and num_edge_types"
            )


def _find_extremes(pairs: dgl.DGLGraph) -> tuple[int, int]:
    least, most = pairs.edata["relation"].aminmax()
    return int(least), int(most)


_extremes = PerGraph(_find_extremes)
"""The smallest and the largest relation of a pair graph."""

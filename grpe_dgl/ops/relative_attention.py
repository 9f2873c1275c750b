"""The operation every GRPE layer is made of, and the one place that picks a backend for it."""

from collections.abc import Callable

import dgl
import torch
from torch import Tensor

from grpe_dgl.errors import InputError
from grpe_dgl.ops.dense import DensePairs, dense_attention, padded_attention
from grpe_dgl.ops.message_passing import message_passing_attention
from grpe_dgl.ops.per_graph import PerGraph

BACKENDS = ("auto", "fused", "dense", "dgl")
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
    r"""Attend from every node to its keys, knowing how the two are related.

    For a query i and a key j with relation r = r(i, j), in every head on its own::

        a_ij = (q_i . k_j + q_i . query_table[r] + k_j . key_table[r]) / sqrt(D)
        w_ij = softmax over j of a_ij, then dropout
        z_i  = sum_j w_ij (v_j + value_table[r])

    which is Eq. 6-9 of the paper with the distance's and the edge's rows already added up: table = P[psi] + E[e].
    The products q . query_table and k . key_table are made once per node and relation and looked up per pair, and the
    weights are summed per node and relation before they meet value_table: O(N R D), never (pairs, H, D).

    Parameters
    ----------
    pairs
        Pair graph of N nodes, edges key -> query, with integer ``edata["relation"]`` in 0..R-1, shape (M,). Or, for
        programs without DGL, `DensePairs`; then q, k, v and z are padded, (B, N, H, D).
    q, k, v
        Shape (N, H, D) each, float32 or float64. Half precision and bfloat16 are taken too: fused and dgl compute in
        float32 and give z back in the type of q, dense computes in what it gets.
    query_table, key_table, value_table
        Shape (R, H, D) each; None leaves its term out.
    key_term
        ``"neighbour"`` as above (the paper); ``"self"`` puts k_i for k_j in the third term (the authors' code).
    dropout
        The chance that a weight is set to zero, the others being scaled by 1 / (1 - dropout).
    backend
        ``"fused"``: one CPU kernel, for complete pair graphs, which stores nothing per pair and head. ``"dense"``:
        padded batches in plain torch, for complete pair graphs on any device. ``"dgl"``: message passing, for any pair
        graph. ``"auto"``: fused on the CPU where the pair graph is complete, dgl where it is not, dense on other
        devices and for `DensePairs`.

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
    if isinstance(pairs, DensePairs):
        if backend not in ("auto", "dense"):
            raise InputError(f'backend is {backend!r} and the pairs are DensePairs; accepted: "dense" or "auto"')
        return padded_attention(pairs, q, k, v, query_table, key_table, value_table, key_term=key_term, dropout=dropout)
    _check_shapes(pairs, q, k, v, query_table, key_table, value_table)
    attend, computes_in_float32 = _choose(backend, pairs, q)
    tables = (query_table, key_table, value_table)
    if not computes_in_float32 or q.dtype in (torch.float32, torch.float64):
        return attend(pairs, q, k, v, *tables, key_term=key_term, dropout=dropout)
    with torch.autocast(q.device.type, enabled=False):
        operands = (x if x is None else x.float() for x in (q, k, v, *tables))
        return attend(pairs, *operands, key_term=key_term, dropout=dropout).to(q.dtype)


def _choose(backend: str, pairs: dgl.DGLGraph, q: Tensor) -> tuple[Callable[..., Tensor], bool]:
    """Return the function of a backend, and whether it takes float32 and float64 only."""
    on_cpu = q.device.type == "cpu"
    if backend == "fused" and not on_cpu:
        raise InputError(f'backend is "fused" and q is on {q.device}; accepted there: "dense", "dgl" or "auto"')
    if backend == "dgl" or (backend == "auto" and on_cpu and not _complete(pairs)):
        return message_passing_attention, True
    if backend == "dense" or not on_cpu:
        return dense_attention, False
    from grpe_dgl.ops.fused import fused_attention  # numba stays unloaded for those who only export or use CUDA

    return fused_attention, True


def _complete(pairs: dgl.DGLGraph) -> bool:
    from grpe_dgl.ops.fused import is_complete

    return is_complete(pairs)


def _check_shapes(pairs: dgl.DGLGraph, q: Tensor, k: Tensor, v: Tensor, *tables: Tensor | None) -> None:
    if "relation" not in pairs.edata:
        raise InputError('the pair graph has no edata["relation"]; make it with grpe_dgl.transforms.ToPairGraph')
    if q.dim() != 3 or not q.shape == k.shape == v.shape or len(q) != pairs.num_nodes():
        found = ", ".join(str(tuple(x.shape)) for x in (q, k, v))
        raise InputError(f"q, k, v have shapes {found}; accepted: (N, H, D) each, with N = {pairs.num_nodes()} nodes")
    shapes = {tuple(table.shape) for table in tables if table is not None}
    if len(shapes) > 1 or any(len(shape) != 3 or shape[1:] != q.shape[1:] for shape in shapes):
        raise InputError(
            f"tables have shapes {', '.join(map(str, sorted(shapes)))}; accepted: (R, {q.shape[1]}, {q.shape[2]}) each"
        )
    relation = pairs.edata["relation"]
    # A relation the tables do not have would read another node's row. On a GPU the look would cost a synchronisation.
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

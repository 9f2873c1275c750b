"""A transformer block with relative attention as one operation, where the fused kernel computes the attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from grpe_dgl.ops.backends import TABLE, choose
from grpe_dgl.ops.inputs import AttentionInputs
from grpe_dgl.ops.relative_attention import check_shapes

if TYPE_CHECKING:
    import dgl

    from grpe_dgl.ops.fused.plan import Plan


class FusedPairs(NamedTuple):
    """A complete pair graph on the CPU, checked once for all layers, with what the fused kernel needs of it."""

    plan: Plan
    rows: Tensor | None = None
    """(graphs,): the first node of every graph, if the block is computed for those alone; None: for all nodes."""


class BlockWeights(NamedTuple):
    """The parameters of a block, each followed by its bias; products have (outputs, inputs)."""

    attention_norm: Any
    attention_norm_bias: Any
    qkv: Any
    qkv_bias: Any
    output: Any
    output_bias: Any
    ffn_norm: Any
    ffn_norm_bias: Any
    widen: Any
    widen_bias: Any
    narrow: Any
    narrow_bias: Any


class BlockOptions(NamedTuple):
    """What a block depends on besides its tensors."""

    num_heads: int
    key_self: bool
    dropout: float
    attention_dropout: float
    attention_eps: float
    """Of the norm before the attention."""
    ffn_eps: float
    attention_seed: int
    seeds: tuple[int, int]
    """Of the dropout of both branches."""
    rows: Tensor | None
    """See `FusedPairs`."""


def fused_pairs(
    pairs: dgl.DGLGraph, heads: Tensor, tables: list[Any], *, key_term: str, backend: str
) -> FusedPairs | None:
    """Return the pair graph prepared for `transformer_block`, or None where that does not apply.

    It applies on the CPU, in float32 and float64, where the backend is the fused kernel, outside of autocast and
    torch.compile.

    Parameters
    ----------
    pairs
        The pair graph.
    heads
        Any tensor of the shape, type and device of the queries, (N, H, D).
    tables
        The `Tables` of every layer, or the one of all.
    key_term, backend
        See `grpe_dgl.ops.relative_attention`.
    """
    if torch.compiler.is_compiling() or torch.is_autocast_enabled("cpu"):
        return None
    if heads.device.type != "cpu" or heads.dtype not in (torch.float32, torch.float64) or not heads.numel():
        return None
    for some in tables:
        if any(table is not None and table.dtype != heads.dtype for table in some):
            return None
        query, key, value = some
        check_shapes(pairs, AttentionInputs(heads, heads, heads, query, key, value, key_term, 0.0))
    if choose(backend, pairs, heads.device) is not TABLE["fused"]:
        return None
    from grpe_dgl.ops.fused.operation import plan_for  # here for start-up time: numba takes long to load

    return FusedPairs(plan_for(pairs, heads.shape[1]))


def of_first_nodes(pairs: dgl.DGLGraph, num_heads: int) -> FusedPairs:
    """Return a pair graph that `fused_pairs` accepts, for a block whose output is read at the first nodes alone."""
    from grpe_dgl.ops.fused.operation import plan_for

    plan = plan_for(pairs, num_heads, first_queries=True)
    return FusedPairs(plan, torch.from_numpy(plan.node_offsets[:-1]))


def transformer_block(
    pairs: FusedPairs,
    x: Tensor,
    weights: BlockWeights,
    tables: tuple[Any, ...],
    *,
    num_heads: int,
    key_term: str,
    dropout: float,
    attention_dropout: float,
    eps: tuple[float, float],
) -> Tensor:
    r"""Return the output of a pre-norm transformer block, (N, hidden_size), or of `pairs.rows` alone.

    ::

        x = x + Dropout(Attention(LayerNorm(x)))
        x = x + Dropout(FFN(LayerNorm(x)))        FFN = Linear, exact GELU, Linear

    Parameters
    ----------
    pairs
        From `fused_pairs`.
    x
        (N, hidden_size).
    weights
        Of the type of x, as are the tables.
    tables
        Query, key and value table, (R, H, D) each or None.
    num_heads, key_term, attention_dropout
        See `grpe_dgl.ops.relative_attention`.
    dropout
        Of both branches.
    eps
        Of the norms before the attention and before the FFN.
    """
    from grpe_dgl.ops.fused.block import fused_block

    # In the order in which the composed layer draws them.
    attention_seed = _seed() if attention_dropout else 0
    seeds = (_seed(), _seed()) if dropout else (0, 0)
    options = BlockOptions(
        num_heads, key_term == "self", dropout, attention_dropout, *eps, attention_seed, seeds, pairs.rows
    )
    return fused_block(x, weights, tables, options, pairs.plan)


def _seed() -> int:
    return int(torch.randint(2**62, ()))

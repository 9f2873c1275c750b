"""The layers of a model, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from grpe_dgl.models.grpe.encodings import Tables
from grpe_dgl.models.grpe.inference import virtual_first
from grpe_dgl.ops import DensePairs
from grpe_dgl.ops.recomputation import checkpointed
from grpe_dgl.ops.transformer_block import FusedPairs, fused_pairs, of_first_nodes

if TYPE_CHECKING:
    import dgl


def apply_layers(model: Any, pairs: dgl.DGLGraph | DensePairs, x: Tensor, read: Tensor | None = None) -> list[Tensor]:
    """Return x after every layer, (N, hidden_size) each; with `DensePairs` (B, N, hidden_size).

    Where the fused kernel computes the attention, a layer is one operation, and of the last layer only what is read is
    computed if that is the first node of every graph.

    Parameters
    ----------
    model
        A `GRPE`.
    pairs
        Pair graph with the model's relations, or padded pairs.
    x
        The embedded nodes.
    read
        (N,) bool: which nodes of the last layer are returned; None: all.
    """
    tables = [encodings() for encodings in model.encodings]
    prepared = _prepare(model, pairs, x, tables)
    hidden = []
    checkpoints = model.checkpoint_layers and model.training and torch.is_grad_enabled()
    for index, layer in enumerate(model.layers):
        if index == len(model.layers) - 1 and read is not None and isinstance(prepared, FusedPairs):
            if model.level == "graph" and virtual_first(pairs):
                prepared, read = of_first_nodes(pairs, layer.attention.num_heads), None
        arguments = prepared, x, tables[index % len(tables)]
        x = checkpointed(layer, *arguments) if checkpoints else layer(*arguments)
        hidden.append(x)
    return hidden if read is None else [*hidden[:-1], hidden[-1][read]]


def _prepare(
    model: Any, pairs: dgl.DGLGraph | DensePairs, x: Tensor, tables: list[Tables]
) -> dgl.DGLGraph | DensePairs | FusedPairs:
    """Return the pairs as the layers take them: for computing each layer as one operation, where that applies."""
    if isinstance(pairs, DensePairs) or not all(layer.is_plain(x.dtype) for layer in model.layers):
        return pairs
    attention = model.layers[0].attention
    heads = x.unflatten(-1, (attention.num_heads, -1))
    return fused_pairs(pairs, heads, tables, key_term=attention.key_term, backend=attention.backend) or pairs

"""The virtual nodes' states without gradients, on the CPU: the numbers of the layers to rounding, in less time.

Some graphs at a time go through all layers in the same few buffers, which stay in the processor's cache; projections
back to x add to x itself, and their bias is added by the kernel of the next norm; and of the last layer only
queries and states of the virtual nodes are computed, as nothing else is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grpe_dgl.models.nodes import NodeColumns
from grpe_dgl.ops.backends import TABLE, choose
from grpe_dgl.ops.inputs import AttentionInputs
from grpe_dgl.ops.relative_attention import check_shapes

if TYPE_CHECKING:
    import dgl

NODES_AT_A_TIME = 1024
"""Nodes that are computed together: their queries, keys and values of GRPE-Small are 1 MB, and fit a core's cache. The
number of threads does not change it, as products of other sizes are rounded in other ways: a molecule's prediction must
not depend on how many processes share the work."""


def applies(model: Any, pairs: dgl.DGLGraph) -> bool:
    """Whether `virtual_states` computes what the model does: outside of training, in float32, with the fused kernel."""
    if model.training or torch.is_grad_enabled() or torch.is_autocast_enabled("cpu") or model.level != "graph":
        return False
    if {parameter.dtype for parameter in model.parameters()} != {torch.float32}:
        return False
    if "virtual" not in pairs.ndata or "relation" not in pairs.edata:
        return False
    if pairs.device.type != "cpu" or model.virtual_node.device.type != "cpu":
        return False
    return choose(model.layers[0].attention.backend, pairs, pairs.device) is TABLE["fused"] and _virtual_first(pairs)


def virtual_states(model: Any, pairs: dgl.DGLGraph, last: int) -> list[Tensor]:
    """Return the virtual nodes after each of the last layers, `last` of them, (graphs, hidden_size) each."""
    from grpe_dgl.ops.fused.repeated import groups_of  # here for start-up time: numba takes long to load

    x = _embed(model, pairs)
    attention = model.layers[0].attention
    heads = x.unflatten(-1, (attention.num_heads, -1))
    tables = [encodings() for encodings in model.encodings]
    for some in tables:
        given = some.query, some.key, some.value
        check_shapes(pairs, AttentionInputs(heads, heads, heads, *given, attention.key_term, 0.0))
    threads = torch.get_num_threads()
    groups = groups_of(pairs, NODES_AT_A_TIME, threads)
    layers = [_Layer.of(layer) for layer in model.layers]
    most = max(group.last_node - group.first_node for group in groups)
    memory = _Memory.new(most, x.shape[1], layers[0].widen.weight.shape[1])
    states: list[list[Tensor]] = [[] for _ in range(last)]
    for group in groups:
        own = x[group.first_node : group.last_node]
        for place, found in enumerate(_encode(layers, own, group, tables, attention, memory, last)):
            states[place].append(found)
    return [torch.cat(found) for found in states]


class _Linear(NamedTuple):
    weight: Tensor
    """Transposed: (inputs, outputs)."""
    bias: Tensor

    @classmethod
    def of(cls, linear: nn.Linear) -> _Linear:
        return cls(linear.weight.detach().t(), linear.bias.detach())


class _Norm(NamedTuple):
    weight: Tensor
    bias: Tensor
    eps: float

    @classmethod
    def of(cls, norm: nn.LayerNorm) -> _Norm:
        return cls(norm.weight.detach(), norm.bias.detach(), norm.eps)

    def __call__(self, x: Tensor, added: Tensor, out: Tensor) -> Tensor:
        """Return `out`, which becomes the norm of x after `added`, (hidden_size,), is added to x in place."""
        from grpe_dgl.ops.fused.norm import add_and_norm

        add_and_norm(x, added, self.weight, self.bias, self.eps, out)
        return out


class _Layer(NamedTuple):
    """The weights of a layer, found once for all groups."""

    attention_norm: _Norm
    query_key_value: _Linear
    output: _Linear
    ffn_norm: _Norm
    widen: _Linear
    narrow: _Linear

    @classmethod
    def of(cls, layer: Any) -> _Layer:
        return cls(
            _Norm.of(layer.attention_norm),
            _Linear.of(layer.attention.query_key_value),
            _Linear.of(layer.attention.output),
            _Norm.of(layer.ffn_norm),
            _Linear.of(layer.ffn[0]),
            _Linear.of(layer.ffn[2]),
        )


class _Memory(NamedTuple):
    """Buffers of the nodes of a group, used again by the next."""

    normed: Tensor
    query_key_value: Tensor
    z: Tensor
    wide: Tensor

    @classmethod
    def new(cls, nodes: int, hidden_size: int, ffn_size: int) -> _Memory:
        return cls(*(torch.empty(nodes, width) for width in (hidden_size, 3 * hidden_size, hidden_size, ffn_size)))


def _encode(
    layers: list[_Layer], x: Tensor, group: Any, tables: list[Any], attention: Any, memory: _Memory, last: int
) -> list[Tensor]:
    """Compute all layers of a group in place; return its virtual nodes after each of the last layers."""
    from grpe_dgl.ops.fused.repeated import RepeatedAttention

    normed, projected, z, wide = (buffer[: len(x)] for buffer in memory)
    arguments = (
        projected.unflatten(-1, (3, attention.num_heads, -1)),
        z.unflatten(-1, (attention.num_heads, -1)),
    )
    key_self = attention.key_term == "self"
    calls = [RepeatedAttention(group.plan, *arguments, some, key_self) for some in tables]
    first_nodes = torch.from_numpy(group.plan.node_offsets[:-1])
    added = torch.zeros(x.shape[1])
    found = []
    for index, layer in enumerate(layers):
        ending = index == len(layers) - 1
        layer.attention_norm(x, added, normed)
        if ending:
            _project_last(layer.query_key_value, normed, first_nodes, projected)
            RepeatedAttention(group.first_queries, *arguments, tables[index % len(tables)], key_self)()
            x, z = x[first_nodes], z[first_nodes]
            normed, wide = normed[: len(x)], wide[: len(x)]
        else:
            _linear(layer.query_key_value, normed, projected)
            calls[index % len(calls)]()
        x.addmm_(z, layer.output.weight)
        _linear(layer.widen, layer.ffn_norm(x, layer.output.bias, normed), wide)
        x.addmm_(F.gelu(wide), layer.narrow.weight)
        added = layer.narrow.bias
        if index >= len(layers) - last:
            found.append((x if ending else x[first_nodes]) + added)
    return found


def _linear(linear: _Linear, x: Tensor, out: Tensor) -> None:
    torch.addmm(linear.bias, x, linear.weight, out=out)


def _project_last(linear: _Linear, x: Tensor, first_nodes: Tensor, out: Tensor) -> None:
    """Project keys and values of every node, and queries of the first node of each graph alone."""
    size = x.shape[1]
    torch.addmm(linear.bias[size:], x, linear.weight[:, size:], out=out[:, size:])
    out[first_nodes, :size] = torch.addmm(linear.bias[:size], x[first_nodes], linear.weight[:, :size])


def _embed(model: Any, pairs: dgl.DGLGraph) -> Tensor:
    feat = model.nodes.check(pairs.ndata["feat"])
    if isinstance(model.nodes, NodeColumns):  # sums the rows of the columns without writing them out first
        x = F.embedding_bag(feat + model.nodes.first_row, model.nodes.embedding.weight, mode="sum")
    else:
        x = model.nodes(feat)
    x[pairs.ndata["virtual"].bool()] = model.virtual_node
    return x


def _virtual_first(pairs: dgl.DGLGraph) -> bool:
    """Whether the virtual nodes are the first nodes of the graphs, one in each."""
    sizes = pairs.batch_num_nodes().long()
    expected = torch.zeros(pairs.num_nodes(), dtype=torch.bool)
    expected[sizes.cumsum(0) - sizes] = True
    return torch.equal(pairs.ndata["virtual"].bool(), expected)

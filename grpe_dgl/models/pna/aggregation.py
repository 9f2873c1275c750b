"""The aggregators and scalers of PNA."""

from collections.abc import Callable, Sequence

import dgl
import torch
from torch import Tensor


def aggregate(graph: dgl.DGLGraph, message: Tensor, aggregators: Sequence[str], *, of_nodes: bool = False) -> Tensor:
    """Return the aggregates of each node's incoming messages, (N, aggregators, ...); zeros where there are none.

    mean, max, min and sum are per channel; std = sqrt(ReLU(mean(m^2) - mean(m)^2) + 1e-5).

    Parameters
    ----------
    graph
        N nodes.
    message
        (edges, ...), or (N, ...) with `of_nodes`: a node then sends its row along its outgoing edges.
    aggregators
        Names, in order.
    of_nodes
        See `message`.
    """
    kind = "copy_u" if of_nodes else "copy_e"

    def reduce(x: Tensor, how: str) -> Tensor:
        if graph.num_edges() == 0:  # DGL's maximum has no backward pass then; the sum keeps a gradient, of zero
            return x.new_zeros(graph.num_nodes(), *x.shape[1:]) + 0 * x.sum()
        operation: Callable[[dgl.DGLGraph, Tensor], Tensor] = getattr(dgl.ops, f"{kind}_{how}")
        return operation(graph, x)

    has_messages = _as_column(graph.in_degrees() > 0, message)
    mean = reduce(message, "mean") if {"mean", "std"} & set(aggregators) else None
    parts = []
    for name in aggregators:
        if name == "mean":
            assert mean is not None
            parts.append(mean)
        elif name == "std":
            assert mean is not None
            variance = torch.relu(reduce(message * message, "mean") - mean * mean)
            parts.append(torch.sqrt(variance + 1e-5) * has_messages)
        elif name == "sum":
            parts.append(reduce(message, "sum"))
        else:  # DGL returns an infinity for nodes without incoming edges
            parts.append(torch.where(has_messages, reduce(message, name), message.new_zeros(())))
    return torch.stack(parts, 1)


def scales(graph: dgl.DGLGraph, scalers: Sequence[str], mean_log_degree: float | None, dtype: torch.dtype) -> Tensor:
    """Return each node's factors, (N, scalers); zero where a node has no incoming edge, and so nothing to scale.

    identity is 1, amplification log(D + 1) / delta and attenuation delta / log(D + 1), for the in-degree D and delta,
    the mean of log(D + 1) over the training nodes.
    """
    degree = graph.in_degrees()
    log = torch.log(degree.to(dtype) + 1)
    delta = 1.0 if mean_log_degree is None else mean_log_degree
    factors = {
        "identity": torch.ones_like(log),
        "amplification": log / delta,
        "attenuation": torch.where(degree > 0, delta / log, torch.zeros_like(log)),
    }
    return torch.stack([factors[name] for name in scalers], 1)


def _as_column(mask: Tensor, like: Tensor) -> Tensor:
    """Return a mask (N,) as (N, 1, ...) with as many dimensions as `like`."""
    return mask.reshape(-1, *[1] * (like.dim() - 1))

"""The aggregators of DGN, over a node's incoming messages."""

from typing import NamedTuple, Self

import dgl
import torch
from torch import Tensor

from grpe_dgl.models.dgn.settings import DIRECTIONAL


class Field(NamedTuple):
    """The directional field of a batch: for each of K eigenvectors the weight of every edge.

    w_uv = (f_u - f_v) / (sum_u |f_u - f_v| + 1e-8) for an edge u -> v and an eigenvector f.
    """

    weight: Tensor
    """(K, edges, 1)."""
    total: Tensor
    """(K, N, 1): the sum of w over a node's incoming edges."""

    @classmethod
    def of(cls, graph: dgl.DGLGraph, eigenvectors: Tensor) -> Self:
        """Return the field of eigenvectors (N, K)."""
        difference = dgl.ops.u_sub_v(graph, eigenvectors, eigenvectors)
        size = dgl.ops.copy_e_sum(graph, difference.abs()) + 1e-8
        weight = dgl.ops.e_div_v(graph, difference, size)
        total = dgl.ops.copy_e_sum(graph, weight)
        return cls(weight.t().unsqueeze(-1), total.t().unsqueeze(-1))


def aggregate(name: str, graph: dgl.DGLGraph, message: Tensor, x: Tensor, field: Field | None) -> Tensor:
    """Return (N, width): incoming messages m_uv of each node v, put together; 0 where there are none.

    - ``mean``, ``sum``, ``max``, ``min``
    - ``dirk-av``: sum_u |w_uv| m_uv with the field w of eigenvector k
    - ``dirk-dx``: |sum_u w_uv m_uv - x_v sum_u w_uv|

    Parameters
    ----------
    name
        The aggregator.
    graph
        N nodes.
    message
        (edges, width).
    x
        (N, width): the nodes' states.
    field
        For the directional aggregators.
    """
    directional = DIRECTIONAL.fullmatch(name)
    if directional is None:
        return _plain(name, graph, message)
    assert field is not None
    weight, total = (part[int(directional[1]) - 1] for part in field)
    if directional[2] == "av":
        return dgl.ops.copy_e_sum(graph, weight.abs() * message)
    return (dgl.ops.copy_e_sum(graph, weight * message) - total * x).abs()


def _plain(name: str, graph: dgl.DGLGraph, message: Tensor) -> Tensor:
    if graph.num_edges() == 0:  # DGL's maximum has no backward pass then
        return message.new_zeros(graph.num_nodes(), message.shape[1])
    result: Tensor = getattr(dgl.ops, f"copy_e_{name}")(graph, message)
    if name in ("max", "min"):  # infinite where a node has no messages
        result = result.masked_fill((graph.in_degrees() == 0).unsqueeze(-1), 0)
    return result


def degree_scales(graph: dgl.DGLGraph, names: tuple[str, ...], mean_log_degree: float, like: Tensor) -> list[Tensor]:
    """Return for each scaler what aggregated messages are multiplied with, (N, 1) each, of the dtype of `like`.

    With d a node's degree and a the mean of log(d + 1) over the training nodes: 1 (identity), log(d + 1) / a
    (amplification) or a / log(d + 1) (attenuation); nodes without edges, which have no messages, count as d = 1.
    """
    log = torch.log(graph.in_degrees().clamp(min=1).to(like) + 1).unsqueeze(-1)
    scales = {
        "identity": torch.ones_like(log),
        "amplification": log / mean_log_degree,
        "attenuation": mean_log_degree / log,
    }
    return [scales[name] for name in names]

"""Integrated gradients: a prediction divided among the nodes, with parts that sum to a known number."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from grpe_dgl.data.batching.collate import collate
from grpe_dgl.data.store.arrays import GraphArrays
from grpe_dgl.explain.outputs import ExplainedOutput
from grpe_dgl.models.model import GraphModel
from grpe_dgl.views import View

Array = npt.NDArray[Any]
STEPS = (8, 32, 128)
"""How many points the integral takes; more where the parts do not sum to what they must."""
TOLERANCE = 0.01
"""The largest difference, relative to the sum of the parts' sizes, with which no more points are taken."""


def integrate_graphs(
    model: GraphModel, view: View, arrays: GraphArrays, index: npt.NDArray[np.int64], output: ExplainedOutput
) -> list[tuple[float, float, Array]]:
    r"""Return for each graph its value, its baseline and the contributions of its nodes.

    With x_i the embedding of node i's features, m their mean over the graph, and f the explained output as a function
    of all embeddings::

        contribution of node i = (x_i - m) . integral over t from 0 to 1 of df/dx_i at m + t (x - m)
        sum of contributions   = f(x) - f(m)                                    (completeness)

    f(m), the baseline, is the output for the same graph with all its nodes alike. The integral is a Gauss-Legendre
    quadrature of `STEPS` points.

    Parameters
    ----------
    model, view, arrays, index, output
        As for `grpe_dgl.explain.masking.mask_graphs`.

    Returns
    -------
    list
        Of each graph f(x), f(m), and (nodes,) float64.
    """
    found: dict[int, tuple[float, float, Array]] = {}
    places = np.arange(len(index))
    for steps in STEPS:
        if not len(places):
            break
        missing = []
        for place, result in zip(places, _integrate(model, view, arrays, index[places], output, steps), strict=True):
            found[int(place)] = result
            value, baseline, parts = result
            if abs(parts.sum() - (value - baseline)) > TOLERANCE * abs(parts).sum():
                missing.append(place)
        places = np.array(missing, np.int64)
    return [found[place] for place in range(len(index))]


def _integrate(
    model: GraphModel,
    view: View,
    arrays: GraphArrays,
    index: npt.NDArray[np.int64],
    output: ExplainedOutput,
    steps: int,
) -> list[tuple[float, float, Array]]:
    graph = collate(arrays, index, view).graph
    sizes = graph.batch_num_nodes()
    real = ~graph.ndata["virtual"].bool() if "virtual" in graph.ndata else torch.ones(graph.num_nodes()).bool()
    path = _Path(sizes, real)
    nodes = model.nodes
    assert isinstance(nodes, nn.Module)
    hook = nodes.register_forward_hook(path.replace)
    try:
        value, baseline = (_value(model, graph, output, path, at).detach() for at in (1.0, 0.0))
        points, weights = np.polynomial.legendre.leggauss(steps)
        total: Tensor | None = None
        for point, weight in zip((points + 1) / 2, weights / 2, strict=True):
            result = _value(model, graph, output, path, float(point))
            assert path.current is not None
            (gradient,) = torch.autograd.grad(result.sum(), path.current)
            total = gradient.double() * weight if total is None else total + gradient.double() * weight
    finally:
        hook.remove()
    assert total is not None and path.change is not None
    parts = (total * path.change.double()).sum(-1)
    each = [
        part[own].numpy() for part, own in zip(parts.split(sizes.tolist()), real.split(sizes.tolist()), strict=True)
    ]
    return [(float(v), float(b), part) for v, b, part in zip(value, baseline, each, strict=True)]


def _value(model: GraphModel, graph: Any, output: ExplainedOutput, path: "_Path", at: float) -> Tensor:
    path.at = at
    return output.values(model(graph))


class _Path:
    """A forward hook that puts the embeddings of nodes at a point of the way from their graph's mean to themselves."""

    def __init__(self, sizes: Tensor, real: Tensor) -> None:
        self.graph_of_node = torch.arange(len(sizes)).repeat_interleave(sizes)
        self.real = real
        self.at = 1.0
        self.change: Tensor | None = None
        """(N, width): x - m, zero for virtual nodes."""
        self.current: Tensor | None = None
        """What the model's embedding was replaced by in the last forward pass."""

    def replace(self, module: nn.Module, arguments: Any, embedded: Tensor) -> Tensor:
        x = embedded.detach()
        graphs = int(self.graph_of_node[-1]) + 1
        own = x * self.real.unsqueeze(-1)
        sums = x.new_zeros(graphs, x.shape[-1]).index_add(0, self.graph_of_node, own)
        counts = x.new_zeros(graphs).index_add(0, self.graph_of_node, self.real.to(x.dtype))
        mean = (sums / counts.unsqueeze(-1))[self.graph_of_node]
        self.change = (x - mean) * self.real.unsqueeze(-1)
        self.current = (x - (1 - self.at) * self.change).requires_grad_()
        return self.current

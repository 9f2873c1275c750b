r"""FLAG: training with perturbations of the nodes' embeddings that make the loss larger (Kong et al., 2020).

For an update of m steps of size a, with x the nodes' embeddings::

    d_1     ~ uniform(-a, a)                       for each number of each node
    d_(t+1) = d_t + a sign(dL(x + d_t) / dd_t)

and the gradient of the parameters is that of the mean of L(x + d_t) over t = 1..m. d_1 is a hash of seed, update,
graph, node and column: it does not depend on how a batch is divided into parts or among processes, and a resumed run
repeats it.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import dgl
import torch
from torch import Tensor, nn

from grpe_dgl.models.model import GraphModel
from grpe_dgl.padded import PaddedBatch


class Perturbation:
    """The perturbation d of one part of a batch, which a hook adds to the nodes' embeddings.

    Parameters
    ----------
    graph
        What the model reads: N nodes, or of a padded batch (b, N).
    indices
        (b,): the graphs' numbers in the dataset.
    step_size
        a.
    seed, update
        What d_1 depends on, beside graph, node and column.
    """

    def __init__(
        self, graph: dgl.DGLGraph | PaddedBatch, indices: Tensor, *, step_size: float, seed: int, update: int
    ) -> None:
        self.step_size = step_size
        self._value: Tensor | None = None
        if isinstance(graph, PaddedBatch):
            device = graph.nodes.device
            graphs = indices.to(device).unsqueeze(1)  # (b, 1)
            nodes = torch.arange(graph.nodes.shape[1], device=device)  # (N,)
        else:
            counts = graph.batch_num_nodes()
            graphs = indices.to(counts.device).repeat_interleave(counts)  # (N,)
            first = (counts.cumsum(0) - counts).repeat_interleave(counts)
            nodes = torch.arange(len(first), device=counts.device) - first
        self._key = _mixed(_mixed(graphs + seed * 2**32) + update) + nodes  # (N,) or (b, N)

    def ascend(self) -> None:
        """Move d by a step along the sign of its gradient."""
        assert self._value is not None and self._value.grad is not None
        moved = self._value.detach() + self.step_size * self._value.grad.sign()
        self._value = moved.requires_grad_()

    @contextlib.contextmanager
    def applied(self, model: GraphModel) -> Iterator[None]:
        """Add d to the output of the model's node embedding."""
        embedding = model.node_embedding
        assert embedding is not None  # run() refuses models without one
        handle = embedding.register_forward_hook(self._add)
        try:
            yield
        finally:
            handle.remove()

    def _add(self, module: nn.Module, arguments: Any, output: Tensor) -> Tensor:
        if self._value is None:
            first = (2 * uniform(self._key, output.shape[-1]) - 1) * self.step_size
            self._value = first.to(output.dtype).requires_grad_()
        return output + self._value


def uniform(key: Tensor, columns: int) -> Tensor:
    """Return float32 numbers in [0, 1), shape (..., columns), that follow from int64 keys (...)."""
    bits = _mixed(_mixed(key).unsqueeze(-1) + torch.arange(columns, device=key.device))
    return ((bits >> 40) & 0xFFFFFF) / 2.0**24


def _mixed(x: Tensor) -> Tensor:
    """Return the finalizer of SplitMix64 of every int64; products wrap around."""
    x = x + -0x61C8864680B583EB
    x = (x ^ _shifted(x, 30)) * -0x40A7B892E31B1A47
    x = (x ^ _shifted(x, 27)) * -0x6B2FB644ECCEEE15
    return x ^ _shifted(x, 31)


def _shifted(x: Tensor, bits: int) -> Tensor:
    """Return the logical shift to the right; torch's is arithmetic."""
    return (x >> bits) & (2 ** (64 - bits) - 1)

"""A batch as it is computed: in one part, or in several whose gradients add up to those of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from grpe_dgl.data.batching.dgl_devices import require_dgl_device
from grpe_dgl.data.batching.groups import MOST_GROUPS, group_by_size
from grpe_dgl.data.batching.labels import decode_labels, padded_labels, real_nodes
from grpe_dgl.data.batching.padded import collate_padded
from grpe_dgl.data.batching.slices import Integers, Slices, node_rows
from grpe_dgl.data.store.arrays import GraphArrays
from grpe_dgl.errors import InputError
from grpe_dgl.padded import PaddedBatch
from grpe_dgl.views import View

if TYPE_CHECKING:
    import dgl


class Placement(NamedTuple):
    """Where the graphs of a part stand in their batch."""

    places: Integers
    """(b,): the graphs' places in the batch."""
    num_nodes: Integers
    """(b,): the graphs' real nodes."""


class Part(NamedTuple):
    """Some graphs of a batch, b of them, as a model reads them."""

    graph: dgl.DGLGraph | PaddedBatch
    label: Tensor
    """As `grpe_dgl.data.batching.collate.Batch.label`; of a padded batch and a node task (b, N, ...), with a missing
    label for virtual nodes and padding."""
    places: Integers
    """(b,): the graphs' places in the batch."""
    num_nodes: Integers
    """(b,): the graphs' real nodes."""
    weight: Tensor | None = None
    """How much each label counts in the loss, of the labels' shape; None: all count the same."""

    @property
    def placement(self) -> Placement:
        """Where the graphs stand, without their tensors."""
        return Placement(self.places, self.num_nodes)

    def to_device(self, device: torch.device) -> Self:
        """Return the part with its tensors on another device, copied without blocking the host."""
        if isinstance(self.graph, PaddedBatch):
            graph = self.graph.to(device, non_blocking=True)
        else:
            graph = move_graph(self.graph, device)
        weight = None if self.weight is None else self.weight.to(device, non_blocking=True)
        return self._replace(graph=graph, label=self.label.to(device, non_blocking=True), weight=weight)

    def pin_memory(self) -> Self:
        """Return the part with its tensors in page-locked memory; a DGLGraph stays where it is."""
        graph = self.graph.pin_memory() if isinstance(self.graph, PaddedBatch) else self.graph
        weight = None if self.weight is None else self.weight.pin_memory()
        return self._replace(graph=graph, label=self.label.pin_memory(), weight=weight)

    def tensors(self) -> list[Tensor]:
        """Return the tensors of a padded part, in order."""
        own = [self.label] if self.weight is None else [self.label, self.weight]
        return [*self.graph.tensors(), *own] if isinstance(self.graph, PaddedBatch) else own


class Parts(NamedTuple):
    """A batch in parts."""

    parts: list[Part]
    indices: Tensor
    """(B,) int64 on the CPU: the graphs' numbers in the dataset."""


@dataclass(frozen=True)
class Division:
    """How batches are divided into parts."""

    padded: bool = False
    """Whether a part is a `PaddedBatch` instead of a DGLGraph."""
    most_groups: int = MOST_GROUPS
    """The largest number of groups of like size that a padded batch is computed in."""
    micro_batch_size: int | None = None
    """The largest number of graphs in a part; None: no limit."""

    @classmethod
    def on(
        cls,
        device: torch.device,
        *,
        takes_padded: bool,
        in_one_piece: bool = False,
        micro_batch_size: int | None = None,
        padded: bool | None = None,
    ) -> Self:
        """Return how a model's batches are divided on a device; raises where it cannot compute there.

        Parameters
        ----------
        device
            Where the model computes. On the CPU it reads DGLGraphs, elsewhere padded batches.
        takes_padded, in_one_piece
            `takes_padded` and `uses_batch_statistics` of `grpe_dgl.models.model.GraphModel`. A model that does not take
            padded batches needs a DGL that has the device.
        micro_batch_size
            See `Division`.
        padded
            Whether batches are padded; None follows the device.
        """
        if in_one_piece and micro_batch_size is not None:
            raise InputError(
                f"training.micro_batch_size is {micro_batch_size}, and this model normalises over the graphs of a "
                "batch (batch norm), which are therefore computed in one piece; accepted: null"
            )
        if not takes_padded:
            require_dgl_device(device, "this model computes with DGL on a DGLGraph: it")
            if padded:
                raise InputError("padded batches were asked for, which this model does not take; accepted: pair graphs")
        chosen = device.type != "cpu" if padded is None else padded
        return cls(
            padded=chosen and takes_padded,
            most_groups=1 if in_one_piece else MOST_GROUPS,
            micro_batch_size=micro_batch_size,
        )

    def places(self, num_nodes: Integers) -> list[Integers]:
        """Return the places of the graphs of each part of a batch with these numbers of nodes, (B,)."""
        if self.padded:
            return group_by_size(num_nodes, most_groups=self.most_groups, most_graphs=self.micro_batch_size)
        everything = np.arange(len(num_nodes))
        if self.micro_batch_size is None:
            return [everything]
        return np.array_split(everything, -(-len(everything) // self.micro_batch_size))


def collate_parts(arrays: GraphArrays, index: Integers, view: View, division: Division) -> Parts:
    """Return the batch of the graphs numbered `index`, (B,), in the parts that `division` asks for."""
    slices = Slices.of(arrays, index)
    parts = [collate_part(arrays, slices, places, view, division) for places in division.places(slices.num_nodes)]
    return Parts(parts, torch.from_numpy(index))


def collate_part(arrays: GraphArrays, slices: Slices, places: Integers, view: View, division: Division) -> Part:
    """Return the graphs at `places`, (b,), of a batch as one part."""
    own = Slices(*(values[places] for values in slices))
    if not division.padded:
        from grpe_dgl.data.batching.collate import collate  # here for start-up time: it loads DGL

        batch = collate(arrays, own.graphs, view)
        return Part(batch.graph, batch.label, places, own.num_nodes)
    if arrays.schema.task.level == "graph":
        label = decode_labels(arrays.label[own.graphs], arrays.schema)
    else:
        rows = decode_labels(arrays.label[node_rows(own)], arrays.schema)
        label = padded_labels(rows, own.num_nodes, virtual_node=view.virtual_node)
    return Part(collate_padded(arrays, own, view), torch.from_numpy(label), places, own.num_nodes)


def rows_in_order(parts: Sequence[Placement], outputs: Sequence[Tensor], *, per_node: bool) -> Tensor:
    """Return the rows of the parts' outputs in the batch's order, (graphs or real nodes, ...), all on the CPU.

    Parameters
    ----------
    parts
        The placement of every part of a batch.
    outputs
        What the model returned for each, on the CPU; of a padded part and a node task (b, N, ...).
    per_node
        Whether the rows belong to nodes.
    """
    rows = []
    for part, output in zip(parts, outputs, strict=True):
        if per_node and output.dim() == 3:  # padded
            virtual_node = output.shape[1] > part.num_nodes.max()  # a part is padded to the largest of its graphs
            output = output[torch.from_numpy(real_nodes(part.num_nodes, virtual_node=virtual_node))]
        rows.append(output)
    joined = torch.cat(rows)
    places = np.concatenate([part.places for part in parts])
    if (places[1:] > places[:-1]).all():
        return joined
    if not per_node:
        return joined[torch.from_numpy(np.argsort(places))]
    counts = np.concatenate([part.num_nodes for part in parts])
    first = np.cumsum(counts) - counts  # where each graph's rows begin in `joined`
    order = np.argsort(places)
    counts, first = counts[order], first[order]
    begin = np.cumsum(counts) - counts
    return joined[torch.from_numpy(np.arange(counts.sum()) + np.repeat(first - begin, counts))]


def move_graph(graph: dgl.DGLGraph, device: torch.device) -> dgl.DGLGraph:
    """Return a DGLGraph on a device; raises where this build of DGL has no code for the device."""
    if device.type == "cpu":
        return graph
    require_dgl_device(device)
    return graph.to(device)

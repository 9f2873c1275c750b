"""A batch of graphs as tensors alone, for devices and programs without DGL."""

from typing import NamedTuple, Self

import torch
from torch import Tensor


class PaddedBatch(NamedTuple):
    """B graphs of up to N nodes as tensors alone, for devices and programs without DGL.

    Node 0 is the virtual node, for models whose view has one.
    """

    nodes: Tensor
    """(B, N, F) integer, or float32 for continuous features; anything valid for a virtual node and for padding."""
    relation: Tensor
    """(B, N, N) integer: row = query, column = key; anything valid where a node is padding."""
    mask: Tensor
    """(B, N) bool: True where a node is real or virtual, False where it is padding."""
    descriptors: Tensor | None = None
    """(B, D) float32: numbers of the whole graph, for models that read them."""
    encoding: Tensor | None = None
    """(B, N, columns) float32: the positional encoding, for models that read one; 0 for virtual nodes and padding."""
    encoding_values: Tensor | None = None
    """(B, size) float32: numbers of the encoding for the whole graph, of kinds that have them."""

    def tensors(self) -> list[Tensor]:
        """Return the tensors that there are, in order."""
        return [tensor for tensor in self if tensor is not None]

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Self:
        """Return the batch on another device."""
        present = {name: tensor for name, tensor in self._asdict().items() if tensor is not None}
        return self._replace(**{name: x.to(device, non_blocking=non_blocking) for name, x in present.items()})

    def pin_memory(self) -> Self:
        """Return the batch in page-locked memory, from which a GPU copies without blocking."""
        present = {name: tensor for name, tensor in self._asdict().items() if tensor is not None}
        return self._replace(**{name: x.pin_memory() for name, x in present.items()})

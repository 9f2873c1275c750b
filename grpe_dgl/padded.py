"""A batch of graphs as tensors alone, for devices and programs without DGL."""

from typing import NamedTuple, Self

import torch
from torch import Tensor


class PaddedBatch(NamedTuple):
    """B graphs of up to N nodes as tensors alone, for devices and programs without DGL; node 0 is the virtual node."""

    nodes: Tensor
    """(B, N, F) integer, or float32 for continuous features; anything valid for node 0 and for padding."""
    relation: Tensor
    """(B, N, N) integer: row = query, column = key; anything valid where a node is padding."""
    mask: Tensor
    """(B, N) bool: True where a node is real or virtual, False where it is padding."""
    descriptors: Tensor | None = None
    """(B, D) float32: numbers of the whole graph, for models that read them."""

    def tensors(self) -> list[Tensor]:
        """Return the tensors that there are, in order."""
        return [tensor for tensor in self if tensor is not None]

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Self:
        """Return the batch on another device."""
        return type(self)(*(tensor.to(device, non_blocking=non_blocking) for tensor in self.tensors()))

    def pin_memory(self) -> Self:
        """Return the batch in page-locked memory, from which a GPU copies without blocking."""
        return type(self)(*(tensor.pin_memory() for tensor in self.tensors()))

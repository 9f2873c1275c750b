"""The backends of relative attention: what each can do, and which one `auto` takes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from grpe_dgl.errors import InputError
from grpe_dgl.ops.completeness import is_complete
from grpe_dgl.ops.inputs import AttentionInputs

if TYPE_CHECKING:
    import dgl


class Backend(NamedTuple):
    """One way to compute relative attention."""

    function: str
    """``module:name`` of a function of a pair graph and `AttentionInputs` that returns z, shape (N, H, D).

    It is imported when it is first used, for start-up time: numba, which only ``fused`` needs, takes long to load.
    """
    devices: tuple[str, ...] | None
    """Types of devices it runs on; None: any."""
    needs_complete_graph: bool
    """Whether every node of a graph must be a key of every other, once."""
    float32_and_float64_only: bool
    """Whether inputs of half precision are converted to float32, and z back."""

    def load(self) -> Callable[[dgl.DGLGraph, AttentionInputs], Tensor]:
        """Return the function."""
        return _load(self.function)

    def runs_on(self, device: torch.device) -> bool:
        """Return whether it runs on this device."""
        return self.devices is None or device.type in self.devices


@functools.cache
def _load(function: str) -> Callable[[dgl.DGLGraph, AttentionInputs], Tensor]:
    module, name = function.split(":")
    loaded: Callable[[dgl.DGLGraph, AttentionInputs], Tensor] = getattr(import_module(module), name)
    return loaded


# In order of preference: `auto` takes the first that fits the device and the pair graph.
TABLE = {
    "fused": Backend(
        "grpe_dgl.ops.fused.operation:fused_attention",
        devices=("cpu",),
        needs_complete_graph=True,
        float32_and_float64_only=True,
    ),
    "dense": Backend(
        "grpe_dgl.ops.dense:dense_attention",
        devices=None,
        needs_complete_graph=True,
        float32_and_float64_only=False,
    ),
    "dgl": Backend(
        "grpe_dgl.ops.message_passing:message_passing_attention",
        devices=None,
        needs_complete_graph=False,
        float32_and_float64_only=True,
    ),
}

BACKENDS = ("auto", *TABLE)


def choose(name: str, pairs: dgl.DGLGraph, device: torch.device) -> Backend:
    """Return the backend of that name, one of `BACKENDS`, for operands on `device`.

    Whether the pair graph is complete is checked here for ``auto`` alone: a backend that was named checks it itself.
    """
    if name == "auto":
        return next(
            backend
            for backend in TABLE.values()
            if backend.runs_on(device) and (not backend.needs_complete_graph or is_complete(pairs))
        )
    if not TABLE[name].runs_on(device):
        others = ", ".join(f'"{other}"' for other, backend in TABLE.items() if backend.runs_on(device))
        raise InputError(f'backend is "{name}" and q is on {device}; accepted there: {others} or "auto"')
    return TABLE[name]

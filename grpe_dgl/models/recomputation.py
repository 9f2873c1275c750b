"""Trade a little time for memory: values that are cheap to compute are computed again in the backward pass."""

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def recomputed(
    value: Tensor, make: Callable[[Tensor], Tensor], source: Tensor
) -> contextlib.AbstractContextManager[Any]:
    """Inside this context autograd does not keep `value`, but computes it again in the backward pass.

    Worth it where `source` is kept anyway and `make` is cheap beside what is done inside: a norm before a projection.

    Parameters
    ----------
    value
        ``make(source)``, of any shape.
    make
        A function without side effects.
    source
        The argument of `make`.
    """
    if torch.compiler.is_compiling():  # the compiler decides for itself what to keep
        return contextlib.nullcontext()
    mixed = torch.is_autocast_enabled(value.device.type)  # then other types would come out in the backward pass
    if mixed or not (torch.is_grad_enabled() and value.requires_grad):
        return contextlib.nullcontext()
    memory, offset, source = value.untyped_storage().data_ptr(), value.storage_offset(), source.detach()

    def pack(kept: Tensor) -> Any:
        if kept.untyped_storage().data_ptr() != memory:
            return kept.detach()  # the tensor itself would refer to the graph that keeps it
        return kept.shape, kept.stride(), kept.storage_offset() - offset

    def unpack(packed: Any) -> Tensor:
        if isinstance(packed, Tensor):
            return packed
        shape, stride, begin = packed
        with torch.no_grad():
            return make(source).as_strided(shape, stride, begin)

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)

"""Trade a little time for memory: values that are cheap to make are made again in the backward pass."""

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

KEPT_BYTES = 2**20
"""Values of fewer bytes are kept: making them again takes longer than they are worth."""

_inside_checkpoint: contextvars.ContextVar[bool] = contextvars.ContextVar("inside_checkpoint", default=False)


def recomputed(
    value: Tensor, make: Callable[[Tensor], Tensor], source: Tensor
) -> contextlib.AbstractContextManager[Any]:
    """Inside this context autograd does not keep `value`, if it is large, but makes it again when it needs it.

    Worth it where `source` is kept anyway and `make` is cheap beside what is done inside: a norm before a projection.

    Parameters
    ----------
    value
        ``make(source)``, of any shape.
    make
        A function without side effects.
    source
        What `value` was made of.
    """
    if torch.compiler.is_compiling():  # the compiler decides for itself what to keep
        return contextlib.nullcontext()
    if _inside_checkpoint.get() or not (torch.is_grad_enabled() and value.requires_grad):
        return contextlib.nullcontext()
    if value.numel() * value.element_size() < KEPT_BYTES:
        return contextlib.nullcontext()
    # Not the address: it is 0 for every tensor on the meta device.
    autocast = _same_autocast(value.device)
    memory, offset, source = value.untyped_storage()._cdata, value.storage_offset(), source.detach()

    def pack(kept: Tensor) -> Any:
        if kept.untyped_storage()._cdata != memory:
            return kept.detach()  # the tensor itself would refer to the graph that keeps it
        return kept.shape, kept.stride(), kept.storage_offset() - offset

    def unpack(packed: Any) -> Tensor:
        if isinstance(packed, Tensor):
            return packed
        shape, stride, begin = packed
        with torch.no_grad(), autocast():
            return make(source).as_strided(shape, stride, begin)

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


def checkpointed(function: Callable[..., Tensor], *arguments: Any) -> Tensor:
    """Return ``function(*arguments)``, of which autograd keeps the arguments alone and computes the rest again.

    Random numbers are the same the second time. `recomputed` does nothing inside: it would keep what this frees.
    """

    def run(*arguments: Any) -> Tensor:
        if torch.compiler.is_compiling():  # `recomputed` does nothing then
            return function(*arguments)
        with _checkpointing():
            return function(*arguments)

    result: Tensor = checkpoint(run, *arguments, use_reentrant=False)
    return result


@contextlib.contextmanager
def _checkpointing() -> Iterator[None]:
    token = _inside_checkpoint.set(True)
    try:
        yield
    finally:
        _inside_checkpoint.reset(token)


def _same_autocast(device: torch.device) -> Callable[[], contextlib.AbstractContextManager[Any]]:
    """Return what enters, in the backward pass, the autocast of this moment."""
    if not (torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type)):
        return contextlib.nullcontext
    dtype = torch.get_autocast_dtype(device.type)
    return lambda: torch.autocast(device.type, dtype, cache_enabled=False)

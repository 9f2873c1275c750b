"""In which precision a forward pass is computed."""

import contextlib
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


def autocast(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Return the context for a forward pass in the given precision, float32 or bf16."""
    if precision != "bf16":
        return contextlib.nullcontext()
    if device.type == "meta":
        return MetaAutocast()
    return torch.autocast(device.type, torch.bfloat16)


class MetaAutocast(TorchFunctionMode):
    """What autocast does on a GPU, for the meta device, which has none: matrix products take and return bfloat16."""

    PRODUCTS = (torch.nn.functional.linear, torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, torch.baddbmm)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch, with floating-point operands of products converted."""
        if func in self.PRODUCTS:
            args = tuple(_to_bfloat16(value) for value in args)
            kwargs = {key: _to_bfloat16(value) for key, value in (kwargs or {}).items()}
        return func(*args, **(kwargs or {}))


def _to_bfloat16(value: Any) -> Any:
    return value.to(torch.bfloat16) if isinstance(value, Tensor) and value.is_floating_point() else value

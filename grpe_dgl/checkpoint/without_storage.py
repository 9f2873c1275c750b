"""Build a model without storage for its tensors, to learn their names and shapes."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

_RANDOM = {Tensor.normal_, Tensor.uniform_, nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_}


class _NoRandomValues(TorchFunctionMode):
    """Leaves tensors as they are where they would be filled with random values."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in _RANDOM:
            return args[0] if args else (kwargs or {})["tensor"]
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def without_storage() -> Iterator[None]:
    """Create tensors on torch's device ``meta``: nothing is allocated, and no random value is drawn.

    Drawing a random value there would import torch's compiler, which takes seconds.
    """
    with torch.device("meta"), _NoRandomValues():
        yield

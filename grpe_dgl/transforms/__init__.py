"""DGL transforms: attach a virtual node, turn a graph into its pair graph."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grpe_dgl.transforms.pair_graph import ToPairGraph
    from grpe_dgl.transforms.virtual_node import AddVirtualNode

__all__ = ["AddVirtualNode", "ToPairGraph"]
_MODULES = {"AddVirtualNode": "virtual_node", "ToPairGraph": "pair_graph"}


def __getattr__(name: str) -> Any:
    """Import a transform when it is first used: models need none, and with them comes numba."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """Include the names that are imported on first access."""
    return sorted({*globals(), *__all__})

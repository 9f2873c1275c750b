"""A cache of what is computed from a pair graph: every layer of a model uses the same one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

if TYPE_CHECKING:
    import dgl

T = TypeVar("T")


class PerGraph(Generic[T]):
    """A function of a pair graph whose result is kept as long as the graph exists and is not changed.

    A change is: other relations (``edata["relation"]`` replaced or written to, which adding or removing edges does
    too), another division into graphs, or another device.

    Parameters
    ----------
    function
        What to compute from the pair graph.
    """

    def __init__(self, function: Callable[[dgl.DGLGraph], T]) -> None:
        self.function = function
        self._results: WeakKeyDictionary[dgl.DGLGraph, tuple[Tensor, int, Tensor, T]] = WeakKeyDictionary()

    def __call__(self, pairs: dgl.DGLGraph) -> T:
        """Return the function's result for this graph as it is now."""
        relation, sizes = pairs.edata["relation"], pairs.batch_num_nodes()
        # A tensor made in inference mode has no version counter, and cannot be written to outside that mode.
        now = 0 if relation.is_inference() else relation._version
        known = self._results.get(pairs)
        if known is not None:
            known_relation, version, known_sizes, result = known
            if known_relation is relation and version == now and torch.equal(known_sizes, sizes):
                return result
        result = self.function(pairs)
        self._results[pairs] = (relation, now, sizes.clone(), result)
        return result

"""Work things out once per pair graph: every layer of a model asks about the same one."""

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import dgl
import torch
from torch import Tensor

T = TypeVar("T")


class PerGraph(Generic[T]):
    """A function of a pair graph that remembers its answer as long as the graph lives and is not changed.

    Changed means: other relations (``edata["relation"]`` replaced or written to, which adding or removing edges does
    too), another division into graphs, or another device.

    Parameters
    ----------
    function
        What to compute from the pair graph.
    """

    def __init__(self, function: Callable[[dgl.DGLGraph], T]) -> None:
        self.function = function
        self._answers: WeakKeyDictionary[dgl.DGLGraph, tuple[Tensor, int, Tensor, T]] = WeakKeyDictionary()

    def __call__(self, pairs: dgl.DGLGraph) -> T:
        """Return the function's answer for this graph as it is now."""
        relation, sizes = pairs.edata["relation"], pairs.batch_num_nodes()
        # A tensor made in inference mode cannot be written to outside it, and counts no versions.
        now = 0 if relation.is_inference() else relation._version
        known = self._answers.get(pairs)
        if known is not None:
            known_relation, version, known_sizes, answer = known
            if known_relation is relation and version == now and torch.equal(known_sizes, sizes):
                return answer
        answer = self.function(pairs)
        self._answers[pairs] = (relation, now, sizes.clone(), answer)
        return answer

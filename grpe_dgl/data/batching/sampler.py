"""The sampler: which graphs are in each batch of an epoch; shuffled, divided among ranks, and resumable."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from grpe_dgl.errors import InputError

Integers = npt.NDArray[np.int64]


class Sampler:
    """Which graphs are in each batch of each epoch.

    Everything follows from the arguments and the epoch's number, so ``indices(number, start)`` continues a run exactly
    where another stopped. A global batch is what all ranks see in one step; rank r of W takes the graphs from
    ``B * r // W`` to ``B * (r + 1) // W`` of its B, so that any number of ranks sees the global batches that one sees.

    Parameters
    ----------
    index
        (graphs,): the graphs' numbers in the dataset, in order.
    num_nodes
        Returns the number of nodes of the graphs with given numbers; called only with a `pair_budget`.
    batch_size
        Graphs in a global batch (of all ranks together).
    pair_budget
        Instead: pairs in a global batch, virtual nodes included. Graphs are taken while they fit, at least one.
    shuffle
        Whether to draw a new order for every epoch. Training with several ranks needs the same number of steps of each:
        shuffled, a batch of fewer graphs than ranks (it can only be the last) is left out, and a budget never makes a
        batch of fewer. Not shuffled, every graph is seen by exactly one rank, and a rank that would get none of a batch
        skips it.
    seed
        Seed of the shuffle.
    drop_last
        Whether to leave out a last batch of less than `batch_size` graphs.
    rank, world_size
        This process's number among how many.
    """

    def __init__(
        self,
        index: Integers,
        num_nodes: Callable[[Integers], Integers],
        *,
        batch_size: int | None = None,
        pair_budget: int | None = None,
        shuffle: bool = False,
        seed: int = 0,
        drop_last: bool = False,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        if (batch_size is None) == (pair_budget is None):
            raise InputError("give either batch_size (graphs) or pair_budget (pairs), not both")
        size = batch_size if pair_budget is None else pair_budget
        if size is None or size < 1:
            raise InputError(f"{'batch_size' if pair_budget is None else 'pair_budget'} is {size}; accepted: 1 or more")
        if not 0 <= rank < world_size:
            raise InputError(f"rank is {rank} of world_size {world_size}; accepted: 0..world_size-1")
        if batch_size is not None and shuffle and batch_size < world_size:
            raise InputError(f"batch_size is {batch_size} for {world_size} ranks; accepted: {world_size} or more")
        if drop_last and batch_size is None:
            raise InputError("drop_last goes with batch_size: a pair_budget makes no batches of a fixed size")
        self.index = index
        self._num_nodes = num_nodes
        self.batch_size, self.pair_budget = batch_size, pair_budget
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        self.rank, self.world_size = rank, world_size
        self._next_epoch = 0

    def __len__(self) -> int:
        """Return the number of global batches of an epoch; with a budget and shuffling, of the next one."""
        # How many there are of a fixed size does not depend on their order.
        order = self.index if self.batch_size is not None else self._order(self._next_epoch)
        return len(self._bounds(order))

    def indices(self, number: int, start: int = 0) -> Iterator[Integers]:
        """Yield this rank's graph numbers of the global batches of epoch `number`, from global batch `start` on."""
        order = self._order(number)
        for first, last in self._bounds(order)[start:]:
            size = last - first
            part = order[
                first + size * self.rank // self.world_size : first + size * (self.rank + 1) // self.world_size
            ]
            if len(part):
                yield part

    def _order(self, epoch: int) -> Integers:
        if not self.shuffle:
            return self.index
        return self.index[np.random.default_rng([self.seed, epoch]).permutation(len(self.index))]

    def _bounds(self, order: Integers) -> list[tuple[int, int]]:
        """Return where each global batch of an order begins and ends."""
        least = self.world_size if self.shuffle else 1
        if self.batch_size is not None:
            least = self.batch_size if self.drop_last else least
            starts = range(0, len(order), self.batch_size)
            bounds = [(first, min(first + self.batch_size, len(order))) for first in starts]
        else:
            assert self.pair_budget is not None
            ends = (self._num_nodes(order) ** 2).cumsum()
            bounds, first, done = [], 0, 0
            while first < len(order):
                last = int(np.searchsorted(ends, done + self.pair_budget, side="right"))
                last = min(max(last, first + least), len(order))
                bounds.append((first, last))
                first, done = last, int(ends[last - 1])
        return [bound for bound in bounds if bound[1] - bound[0] >= least]

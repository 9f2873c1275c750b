"""In which batches an epoch goes through a split: shuffled, sized, shared out among ranks, and resumable."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.batching.collate import CODES, Batch, collate
from grpe_dgl.errors import InputError

if TYPE_CHECKING:
    from grpe_dgl.data.dataset import Split

__all__ = ["Batch", "Batches"]


class Batches:
    """Goes through a split batch by batch; iterating it again is the next epoch.

    Everything follows from the arguments and the epoch's number, so ``epoch(number, start)`` continues a run exactly
    where another stopped. A global batch is what all ranks see in one step; rank r of W takes the graphs from
    ``B * r // W`` to ``B * (r + 1) // W`` of its B, so that any number of ranks sees the global batches that one sees.

    Parameters
    ----------
    split
        What to go through.
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
        Of the shuffling.
    drop_last
        Whether to leave out a last batch of less than `batch_size` graphs.
    rank, world_size
        This process's number among how many.
    codes
        Which of relation, spd and edge to put into ``edata``.
    """

    def __init__(
        self,
        split: "Split",
        *,
        batch_size: int | None = None,
        pair_budget: int | None = None,
        shuffle: bool = False,
        seed: int = 0,
        drop_last: bool = False,
        rank: int = 0,
        world_size: int = 1,
        codes: tuple[str, ...] = ("relation",),
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
        wrong = [code for code in codes if code not in CODES]
        if wrong:
            raise InputError(f"codes names {wrong[0]!r}; accepted: {', '.join(CODES)}")
        self.split = split
        self.batch_size, self.pair_budget = batch_size, pair_budget
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        self.rank, self.world_size = rank, world_size
        self.codes = codes
        self._next_epoch = 0

    def __len__(self) -> int:
        """Return the number of global batches of an epoch; with a budget and shuffling, of the next one."""
        # How many there are of a fixed size does not depend on their order.
        order = self.split.index if self.batch_size is not None else self._order(self._next_epoch)
        return len(self._bounds(order))

    def __iter__(self) -> Iterator[Batch]:
        number = self._next_epoch
        self._next_epoch += 1
        return self.epoch(number)

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """Yield this rank's part of the global batches of epoch `number`, from global batch `start` on."""
        data = self.split.dataset
        for index in self.indices(number, start):
            yield collate(data.store, index, data.relations, virtual_node=data.virtual_node, codes=self.codes)

    def indices(self, number: int, start: int = 0) -> Iterator[npt.NDArray[np.int64]]:
        """Yield the graph numbers of what `epoch` yields, without assembling anything."""
        order = self._order(number)
        for first, last in self._bounds(order)[start:]:
            size = last - first
            part = order[
                first + size * self.rank // self.world_size : first + size * (self.rank + 1) // self.world_size
            ]
            if len(part):
                yield part

    def _order(self, epoch: int) -> npt.NDArray[np.int64]:
        index = self.split.index
        if not self.shuffle:
            return index
        return index[np.random.default_rng([self.seed, epoch]).permutation(len(index))]

    def _bounds(self, order: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
        """Return where each global batch of an order begins and ends."""
        least = self.world_size if self.shuffle else 1
        if self.batch_size is not None:
            least = self.batch_size if self.drop_last else least
            starts = range(0, len(order), self.batch_size)
            bounds = [(first, min(first + self.batch_size, len(order))) for first in starts]
        else:
            assert self.pair_budget is not None
            ends = (self.split.dataset.num_nodes(order) ** 2).cumsum()
            bounds, first, done = [], 0, 0
            while first < len(order):
                last = int(np.searchsorted(ends, done + self.pair_budget, side="right"))
                last = min(max(last, first + least), len(order))
                bounds.append((first, last))
                first, done = last, int(ends[last - 1])
        return [bound for bound in bounds if bound[1] - bound[0] >= least]

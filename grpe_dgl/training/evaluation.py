"""Predictions and metrics over whole splits."""

import contextlib
from collections.abc import Callable, Generator, Sequence

import torch
from torch import Tensor

from grpe_dgl.checkpoint.target_units import in_target_unit, standardise
from grpe_dgl.data.batching.parts import Division, Part, Placement, collate_parts, rows_in_order
from grpe_dgl.data.dataset import Batches, Dataset, Split
from grpe_dgl.errors import InputError
from grpe_dgl.messages import counted
from grpe_dgl.models.model import GraphModel
from grpe_dgl.objectives import METRICS, METRICS_OF_KIND
from grpe_dgl.schema import Schema, Task
from grpe_dgl.training.distributed import SINGLE, Processes
from grpe_dgl.training.loss_window import UPDATES_BETWEEN_READS
from grpe_dgl.training.losses import LOSS_FUNCTIONS
from grpe_dgl.training.metrics import METRIC_FUNCTIONS, is_defined
from grpe_dgl.training.precision import autocast
from grpe_dgl.training.prefetch import Transfer, prefetch
from grpe_dgl.training.thresholds import shift_to_thresholds


@torch.no_grad()
def predict_split(
    model: GraphModel,
    split: Split,
    schema: Schema,
    *,
    batch_size: int,
    processes: Processes = SINGLE,
    precision: str = "float32",
    division: Division | None = None,
    after_batch: Callable[[int], object] | None = None,
) -> Tensor:
    """Return the predictions for a whole split, in its order and the labels' unit: (graphs or nodes, outputs) on CPU.

    The graphs are divided among the processes, and every process returns the predictions for all of them. On any device
    but the CPU outputs are read after every 50 batches.
    """
    if division is None:
        division = Division.on(processes.device, takes_padded=model.takes_padded)
    was_training = model.training
    model.eval()
    reader = _Reader(per_node=schema.task.level == "node", capacity=_batches_between_reads(processes.device))
    options = {"batch_size": batch_size, "rank": processes.rank, "world_size": processes.world_size}
    batches = split_batches(split.batches(**options), division, processes.device)
    with contextlib.closing(batches):
        for parts in batches:
            with autocast(precision, processes.device):
                reader.add(parts, [model(part.graph).float() for part in parts])
            if after_batch is not None:
                after_batch(sum(len(part.places) for part in parts))
    own = reader.rows()
    model.train(was_training)
    num_outputs = schema.task.num_outputs
    outputs = torch.cat(own) if own else torch.zeros(0, num_outputs)
    if processes.world_size > 1:
        outputs = _in_order(processes.gather(outputs), split, batch_size)
    return in_target_unit(outputs, schema)


def split_batches(batches: Batches, division: Division, device: torch.device) -> Generator[list[Part], None, None]:
    """Yield the batches of a pass over a split on a device; for any but the CPU a background thread assembles them."""
    store, view = batches.split.dataset.store, batches.view
    on_cpu = (collate_parts(store, index, view, division).parts for index in batches.indices(0))
    if device.type == "cpu":
        yield from on_cpu
        return
    transfer = Transfer(device)
    with contextlib.closing(prefetch(transfer.send(parts) for parts in on_cpu)) as ahead:
        for sent in ahead:
            yield transfer.receive(sent)


class _Reader:
    """Collects the outputs of batches on the CPU, in order; reads `capacity` batches from the device at once."""

    def __init__(self, *, per_node: bool, capacity: int) -> None:
        self._per_node, self._capacity = per_node, capacity
        self._waiting: list[tuple[list[Placement], list[Tensor]]] = []
        self._rows: list[Tensor] = []

    def add(self, parts: list[Part], outputs: list[Tensor]) -> None:
        self._waiting.append(([part.placement for part in parts], outputs))  # the inputs can be freed
        if len(self._waiting) == self._capacity:
            self._read()

    def rows(self) -> list[Tensor]:
        self._read()
        return self._rows

    def _read(self) -> None:
        for placements, outputs in self._waiting:
            on_cpu = [output.cpu() for output in outputs]
            self._rows.append(rows_in_order(placements, on_cpu, per_node=self._per_node))
        self._waiting = []


def _batches_between_reads(device: torch.device) -> int:
    return 1 if device.type == "cpu" else UPDATES_BETWEEN_READS


def _in_order(parts: list[Tensor], split: Split, batch_size: int) -> Tensor:
    """Put the rows of each process, (n_r, T), into the split's order: every batch was divided among the processes."""
    cursors = [0] * len(parts)
    pieces = []
    per_rank = [
        list(split.batches(batch_size=batch_size, rank=rank, world_size=len(parts)).indices(0))
        for rank in range(len(parts))
    ]
    position = {int(graph): number for number, graph in enumerate(split.index)}
    for rank, batches in enumerate(per_rank):
        for index in batches:
            rows = len(index)
            if split.dataset.task.level == "node":
                rows = int(split.dataset.num_real_nodes(index).sum())
            pieces.append((position[int(index[0])], parts[rank][cursors[rank] : cursors[rank] + rows]))
            cursors[rank] += rows
    return torch.cat([rows for _, rows in sorted(pieces, key=lambda piece: piece[0])])


def batch_of_rows(split: Split, batch_size: int) -> Tensor:
    """Return the number of the batch of each row of `predict_split`, (rows,) int64.

    The batches are `batch_size` consecutive graphs of the split, whatever batches the predictions were made in.
    """
    graphs = torch.arange(len(split)) // batch_size
    if split.dataset.task.level == "graph":
        return graphs
    return graphs.repeat_interleave(torch.from_numpy(split.dataset.num_real_nodes(split.index)))


def compute(metric: str, predictions: Tensor, labels: Tensor, batch: Tensor | None = None) -> float:
    """Return a metric of predictions against labels; `batch` is used by those metrics that are computed per batch."""
    if METRICS[metric].per_batch:
        return METRIC_FUNCTIONS[metric](predictions, labels, batch)
    return METRIC_FUNCTIONS[metric](predictions, labels)


def measure(metric: str, predictions: Tensor, labels: Tensor, batch: Tensor | None = None) -> float:
    """Return a metric of predictions against labels; NaN if it is undefined for these labels.

    `batch` is the result of `batch_of_rows`, which metrics that are computed per batch need.
    """
    try:
        return compute(metric, predictions, labels, batch)
    except InputError:
        return float("nan")


def split_loss(loss: str, predictions: Tensor, labels: Tensor, schema: Schema) -> float:
    """Return a loss over a whole split, in the unit of training, for predictions in the unit of the labels."""
    terms = LOSS_FUNCTIONS[loss](standardise(predictions, schema), standardise(labels, schema))
    return float(terms.mean)


def by_target(
    predictions: Tensor,
    labels: Tensor,
    task: Task,
    metrics: Sequence[str],
    thresholds: Sequence[float] | None = None,
) -> dict[str, dict[str, float | None]]:
    """Return the metrics of each target by its name, None where one is undefined; empty if there is one target.

    `thresholds` are those of `grpe_dgl.training.thresholds`; None: 0.5 for all targets.
    """
    if len(task.targets) == 1:
        return {}
    parts: dict[str, dict[str, float | None]] = {}
    for t, target in enumerate(task.targets):
        truth = labels[:, t : t + 1]
        parts[target] = {
            metric: measure(metric, shift_to_thresholds(metric, predictions, thresholds)[:, t : t + 1], truth)
            if is_defined(metric, truth)
            else None
            for metric in metrics
        }
    return parts


def require_validation(data: Dataset, metric: str) -> None:
    """Raise unless `metric` is defined on the split ``valid``, so that it can select the best epoch.

    A dataset without graphs in that split passes: the model of the last epoch is taken then.
    """
    if not has_validation(data):
        return
    path = data.store.path
    again = "make the dataset again with another split"
    if not is_defined(metric, data.valid.labels()):
        others = [other for other in METRICS_OF_KIND[data.task.kind] if is_defined(other, data.valid.labels())]
        size = counted(len(data.valid), "graph")
        instead = f", or choose another training.metric: {', '.join(others)}" if others else ""
        raise InputError(
            f"{metric} cannot select the best epoch: in the split valid of {path} ({size}) no target has "
            f"{METRICS[metric].requires}; {again}{instead}",
            hint="other_metric" if others else "other_split",
            value=others[-1] if others else "",
        )


def has_validation(data: Dataset) -> bool:
    """Whether a dataset has graphs in the split ``valid``, which selects the best epoch."""
    return "valid" in data.splits and len(data.valid) > 0


def is_labelled(split: Split) -> bool:
    """Whether a split has at least one label; PCQM4M's test splits have none."""
    labels = split.labels()
    return bool((labels >= 0).any()) if labels.dtype == torch.int64 else bool((~torch.isnan(labels)).any())

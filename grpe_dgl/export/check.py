"""Compare the outputs of an exported model with the original's."""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from grpe_dgl.checkpoint.file import Checkpoint
from grpe_dgl.checkpoint.target_units import to_predictions
from grpe_dgl.data.batching.collate import Batch, collate
from grpe_dgl.data.encodings.files import EncodingArrays
from grpe_dgl.data.sources.raw_graphs import Graphs
from grpe_dgl.data.store.arrays import ArraysInMemory
from grpe_dgl.data.store.validation import pack
from grpe_dgl.errors import InputError
from grpe_dgl.export.module import padded, relations_of
from grpe_dgl.models.model import GraphModel
from grpe_dgl.schema import Schema, unlabelled
from grpe_dgl.views import DESCRIPTORS, Encoding

TOLERANCE = 1e-4
BATCHES = ([1], [2, 7, 13], [40, 3], [5, 1, 21, 9, 17])  # nodes of each graph
Run = Callable[..., Tensor]


def require_equal(run: Run, model: GraphModel, checkpoint: Checkpoint, *, what: str) -> float:
    """Run an exported model and ours on random graphs of several sizes; return the largest difference found.

    Parameters
    ----------
    run
        The exported model: nodes, relation, mask and, for models that read them, encodings to predictions.
    model
        The original, with any backend.
    checkpoint
        Its settings and the schema of its data.
    what
        Names the exported model in the error that a relative difference over 1e-4 raises.
    """
    worst = 0.0
    schema = checkpoint.schema
    virtual = int(checkpoint.recipe.model.view.virtual_node)
    for batch in random_batches(checkpoint):
        with torch.no_grad():
            ours = to_predictions(model(batch.graph), schema)
        inputs = padded(batch.graph, relations_of(checkpoint.recipe.model.view, schema))
        theirs = run(*inputs)
        if schema.task.level == "node":
            theirs = theirs[:, virtual:][inputs[2][:, virtual:]]
        if theirs.shape != ours.shape:
            raise InputError(f"{what} gives shape {tuple(theirs.shape)}, ours {tuple(ours.shape)}; it is not written")
        difference = _relative(theirs, ours, schema)
        if not difference <= TOLERANCE:  # NaN is a difference too
            sizes = (batch.graph.batch_num_nodes() - virtual).tolist()
            raise InputError(
                f"{what} differs from the model by {difference:.1e} (relative) on graphs of {sizes} nodes; accepted: "
                f"{TOLERANCE:g}; it is not written"
            )
        worst = max(worst, difference)
    return worst


def _relative(theirs: Tensor, ours: Tensor, schema: Schema) -> float:
    """Return the largest difference of any output, relative to that output's largest absolute value.

    For a standardised target the mean is subtracted first: a large one would hide differences. The rounding error of
    adding it is tolerated.
    """
    mean, deviation = schema.target_scale or ((0.0,) * ours.shape[-1], (1.0,) * ours.shape[-1])
    said = ours - ours.new_tensor(mean)
    least = 1e-6 * ours.new_tensor(deviation)
    rounding = 4 * torch.finfo(ours.dtype).eps * ours.abs()
    beyond = ((theirs - ours).abs() - rounding).clamp(min=0)
    return float((beyond.amax(0) / torch.maximum(said.abs().amax(0), least)).max())


def random_batches(checkpoint: Checkpoint, *, seed: int = 0) -> Iterator[Batch]:
    """Yield batches of random graphs that the model could have been trained on."""
    random = np.random.default_rng(seed)
    schema = unlabelled(checkpoint.schema)
    for sizes in BATCHES:
        arrays = ArraysInMemory(pack(_random_graphs(random, sizes, schema), schema), schema)
        for name in checkpoint.recipe.model.view.encodings:
            if (encoding := Encoding.parse(name)).kind in DESCRIPTORS:
                values = random.normal(size=(len(sizes), encoding.size)).astype(np.float32)
                values[:, 0] = np.nan  # one that RDKit could not compute
                arrays.set_encoding(name, EncodingArrays(np.zeros((sum(sizes), 0), np.float32), values))
        yield collate(arrays, np.arange(len(arrays)), checkpoint.recipe.model.view)


def _random_graphs(random: np.random.Generator, sizes: list[int], schema: Schema) -> Graphs:
    """Return random trees with some edges missing, so that some nodes are far apart and some out of reach."""
    ends = []
    for n in sizes:
        child = np.arange(1, n)
        parent = (child - random.integers(1, 3, n - 1)).clip(min=0)
        kept = random.random(n - 1) < 0.9
        ends.append(np.stack([child, parent])[:, kept])
    src, dst = np.concatenate(ends, axis=1)
    types = random.integers(schema.num_edge_types, size=len(src))
    shape = (sum(sizes), schema.node_features or 0)
    if schema.node_vocabulary is None:
        feat = random.normal(size=shape).astype(np.float32)
    else:
        columns = [random.integers(values, size=sum(sizes)) for values in schema.node_vocabulary]
        feat = np.stack(columns, axis=1)
    return Graphs(
        num_nodes=np.array(sizes),
        num_edges=np.array([part.shape[1] for part in ends]),
        node_feat=feat,
        src=src,
        dst=dst,
        edge_type=types,
        label=np.zeros((len(sizes), 0), np.float32),
    )

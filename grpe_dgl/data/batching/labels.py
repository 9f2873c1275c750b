"""The labels of a batch: from the types they are stored in, and padded."""

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.batching.slices import Integers
from grpe_dgl.schema import Schema


def decode_labels(stored: npt.NDArray[np.generic], schema: Schema) -> npt.NDArray[np.generic]:
    """Turn stored labels into float32 with NaN for missing, or for multiclass into int64 with -1."""
    if schema.task.kind == "multiclass":
        return stored.astype(np.int64)
    label = stored.astype(np.float32)
    if schema.task.kind == "binary":
        label[label < 0] = np.nan
    return label


def padded_labels(
    label: npt.NDArray[np.generic], num_nodes: Integers, *, virtual_node: bool
) -> npt.NDArray[np.generic]:
    """Return labels per node, (real nodes, ...), as (B, N, ...): NaN, or -1 of integers, where no real node stands."""
    real = real_nodes(num_nodes, virtual_node=virtual_node)
    missing = -1 if np.issubdtype(label.dtype, np.integer) else np.nan
    padded = np.full((*real.shape, *label.shape[1:]), missing, label.dtype)
    padded[real] = label
    return padded


def real_nodes(num_nodes: Integers, *, virtual_node: bool) -> npt.NDArray[np.bool_]:
    """Return where the real nodes of a padded batch stand, (B, N): after the virtual node, if any, before padding."""
    first = int(virtual_node)
    position = np.arange(int(num_nodes.max()) + first)
    mask: npt.NDArray[np.bool_] = (position >= first) & (position < num_nodes[:, None] + first)
    return mask

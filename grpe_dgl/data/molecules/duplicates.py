"""Detection of duplicates: a hash per molecule that does not depend on the order of its atoms."""

from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.kernels.decorator import compiled

_COLUMNS = (0, 3, 4)  # element, charge, hydrogens: these follow from the molecule alone, not from how it was written
_ROUNDS = 4


def structure_keys(
    num_nodes: npt.NDArray[np.int64],
    num_edges: npt.NDArray[np.int64],
    node_feat: npt.NDArray[Any],
    src: npt.NDArray[np.int64],
    dst: npt.NDArray[np.int64],
) -> npt.NDArray[np.uint64]:
    """Return a number per graph, shape (G,), that depends on its atoms and on which are joined, not on their order.

    Equal molecules have equal numbers. The reverse does not hold: bond types and stereo are left out, and after four
    rounds of summing over neighbours some graphs look alike, so molecules with equal numbers must be compared further.

    Parameters
    ----------
    num_nodes, num_edges, node_feat, src, dst
        As in `grpe_dgl.data.sources.raw_graphs.Graphs`, with OGB's atom columns.
    """
    atoms = np.zeros(len(node_feat), np.uint64)
    for column in _COLUMNS:
        atoms = atoms * np.uint64(256) + node_feat[:, column].astype(np.uint64)
    keys = np.empty(len(num_nodes), np.uint64)
    _fill(num_nodes, num_edges, atoms, src, dst, keys)
    return keys


@compiled()
def _mix(value):  # type: ignore[no-untyped-def]
    """Scatter the bits of a 64-bit number (the finaliser of splitmix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@compiled()
def _fill(num_nodes, num_edges, atoms, src, dst, keys):  # type: ignore[no-untyped-def]
    node, edge = 0, 0
    for graph in range(len(num_nodes)):
        n, m = num_nodes[graph], num_edges[graph]
        code = np.empty(n, np.uint64)
        for i in range(n):
            code[i] = _mix(atoms[node + i] + np.uint64(1))
        for _ in range(_ROUNDS):
            around = np.zeros(n, np.uint64)
            for e in range(edge, edge + m):
                around[dst[e]] += code[src[e]]
            for i in range(n):
                code[i] = _mix(code[i] * np.uint64(3) + _mix(around[i]))
        total = np.uint64(n)
        for i in range(n):
            total += _mix(code[i])
        keys[graph] = _mix(total)
        node += n
        edge += m

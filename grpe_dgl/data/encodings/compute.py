"""The positional encodings of one graph.

A new kind is a function here, an entry of `KINDS` and a name in `grpe_dgl.views.ENCODINGS`.
"""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import dgl
import numpy as np
import numpy.typing as npt
import torch

from grpe_dgl.views import Encoding

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]


class GraphEncoding(NamedTuple):
    """The encoding of one graph of n nodes."""

    nodes: Floats
    """(n, columns)."""
    values: Floats | None = None
    """(size,): numbers of the whole graph, such as eigenvalues; None for kinds without."""


class Kind(NamedTuple):
    """One kind of encoding."""

    compute: Callable[[dgl.DGLGraph, int], GraphEncoding] | None
    """Takes a graph without duplicate edges, and the size; None for what is computed of molecules, not of graphs."""
    columns: int
    """How many columns a node has for each unit of size."""
    has_values: bool
    symmetric: bool
    """Whether edges count in both directions even in a dataset of directed graphs."""
    version: int = 1
    """Stored arrays of another version are computed anew: raise it when the numbers change."""


def laplacian(graph: dgl.DGLGraph, size: int) -> GraphEncoding:
    """Return eigenvectors 1..size of I - D^-1/2 A D^-1/2 by ascending eigenvalue, and the eigenvalues.

    The first eigenvector is left out. A graph of n <= size nodes has zeros in the columns from n - 1 on, and NaN for
    their eigenvalues. These are the numbers of `dgl.lap_pe` in DGL 1, where signs are random: here the entry of largest
    magnitude, the first of equals, is positive. DGL 2 has an iteration that starts at random numbers and ends at a
    tolerance of 0.01 instead.
    """
    n = graph.num_nodes()
    adjacency = np.zeros((n, n))
    adjacency[tuple(end.numpy() for end in graph.edges())] = 1.0
    scale = graph.in_degrees().numpy().clip(1) ** -0.5
    # Equal eigenvalues can come out as a complex pair.
    all_values, all_vectors = np.linalg.eig(np.eye(n) - scale[:, None] * adjacency * scale)
    found = min(n - 1, size)
    smallest = np.argpartition(all_values, found)[: found + 1]
    chosen = smallest[all_values[smallest].argsort()][1:]
    nodes, values = np.zeros((n, size), np.float32), np.full(size, np.nan, np.float32)
    nodes[:, :found], values[:found] = all_vectors[:, chosen].real, all_values[chosen].real
    return GraphEncoding(with_canonical_signs(nodes), values)


def combinatorial_laplacian(graph: dgl.DGLGraph, size: int) -> GraphEncoding:
    """Return eigenvectors 1..size of D - A by ascending eigenvalue, without self-loops, as DGN reads them.

    The first eigenvector is left out, and columns from n - 1 on are zero in a graph of n <= size nodes. In a graph of
    several components those with eigenvalue 0 are constant on every component, to the last bit, because DGN divides
    differences between neighbours by their sum.
    """
    n = graph.num_nodes()
    adjacency = np.zeros((n, n))
    adjacency[tuple(end.numpy() for end in graph.edges())] = 1.0
    np.fill_diagonal(adjacency, 0.0)
    values, vectors = np.linalg.eigh(np.diag(adjacency.sum(1)) - adjacency)
    constant = np.flatnonzero(values < 1e-9)
    if len(constant) > 1:
        component = _components(adjacency)
        counts = np.bincount(component, minlength=n)
        for column in constant:
            vectors[:, column] = (np.bincount(component, vectors[:, column], n) / np.maximum(counts, 1))[component]
    nodes = np.zeros((n, size), np.float32)
    found = min(n - 1, size)
    nodes[:, :found] = vectors[:, 1 : 1 + found]
    return GraphEncoding(with_canonical_signs(nodes))


def _components(adjacency: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the lowest node of each node's component, (n,), for a symmetric matrix (n, n)."""
    reached = adjacency + np.eye(len(adjacency)) > 0
    for _ in range(int(np.ceil(np.log2(max(len(reached), 2))))):  # paths of up to 2, 4, 8, ... edges
        reached = reached.astype(np.float32) @ reached > 0
    return reached.argmax(1)


def random_walk(graph: dgl.DGLGraph, size: int) -> GraphEncoding:
    """Return each node's probability of being back after 1..size random steps (`dgl.random_walk_pe`)."""
    with warnings.catch_warnings():  # DGL makes a tensor of a read-only diagonal, and only reads it
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return GraphEncoding(dgl.random_walk_pe(graph, size).numpy())


def svd(graph: dgl.DGLGraph, size: int) -> GraphEncoding:
    """Return the `size` largest singular vectors of A, left then right, times the roots of their values (`dgl.svd_pe`).

    Each half has `size` columns, zeros at its end if the graph has fewer nodes; the left vector of each pair has its
    entry of largest magnitude positive.
    """
    found = min(graph.num_nodes(), size)
    both = dgl.svd_pe(graph, size, padding=True, random_flip=False).numpy()[:, : 2 * found]
    signs = canonical_signs(both[:, :found])
    nodes = np.zeros((graph.num_nodes(), 2 * size), np.float32)
    nodes[:, :found], nodes[:, size : size + found] = both[:, :found] * signs, both[:, found:] * signs
    return GraphEncoding(nodes)


def svd_self_loops(graph: dgl.DGLGraph, size: int) -> GraphEncoding:
    """Return `svd` of A + I, as EGT takes it: a self-loop at every node, once."""
    return svd(dgl.add_self_loop(dgl.remove_self_loop(graph)), size)


def spectrum(graph: dgl.DGLGraph, size: int) -> GraphEncoding:
    """Return the first `size` eigenvectors of I - D^-1/2 A D^-1/2 and their eigenvalues, as SAN takes them.

    Other than in `laplacian`, the first eigenvector is among them. A graph of n < size nodes has zeros in the columns
    from n on, and NaN for their eigenvalues. The entry of largest magnitude of a vector is positive.
    """
    n = graph.num_nodes()
    adjacency = np.zeros((n, n))
    src, dst = (ends.numpy() for ends in graph.edges())
    adjacency[src, dst] = 1.0
    scale = np.maximum(adjacency.sum(0), 1.0) ** -0.5
    values, vectors = np.linalg.eigh(np.eye(n) - scale[:, None] * adjacency * scale)
    found = min(n, size)
    nodes = np.zeros((n, size), np.float32)
    nodes[:, :found] = with_canonical_signs(vectors[:, :found].astype(np.float32))
    padded = np.full(size, np.nan, np.float32)
    padded[:found] = values[:found].clip(0.0)
    return GraphEncoding(nodes, padded)


def canonical_signs(vectors: Floats) -> Floats:
    """Return +1 or -1 per column of (n, columns), so that the entry of largest magnitude becomes positive.

    Of entries that are equal up to rounding the first counts.
    """
    if vectors.size == 0:
        return np.ones(vectors.shape[1], np.float32)
    magnitude = np.abs(vectors)
    largest = (magnitude >= magnitude.max(0) - 1e-5).argmax(0)
    signs = np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    return signs.astype(np.float32)


def with_canonical_signs(vectors: Floats) -> Floats:
    """Return the columns with the signs of `canonical_signs`; zeros stay zeros."""
    return vectors * canonical_signs(vectors)


KINDS: dict[str, Kind] = {
    "laplacian": Kind(laplacian, columns=1, has_values=True, symmetric=True),
    "combinatorial_laplacian": Kind(combinatorial_laplacian, columns=1, has_values=False, symmetric=True),
    "random_walk": Kind(random_walk, columns=1, has_values=False, symmetric=False),
    "svd": Kind(svd, columns=2, has_values=False, symmetric=False),
    "svd_self_loops": Kind(svd_self_loops, columns=2, has_values=False, symmetric=False),
    "spectrum": Kind(spectrum, columns=1, has_values=True, symmetric=True),
    "rdkit": Kind(None, columns=0, has_values=True, symmetric=False),
    "rdkit_morgan": Kind(None, columns=0, has_values=True, symmetric=False),
}


def encode_graphs(
    num_nodes: Integers,
    num_edges: Integers,
    src: Integers,
    dst: Integers,
    encoding: Encoding,
    *,
    undirected: bool,
    molecules: Callable[[], Floats] | None = None,
) -> tuple[Floats, Floats | None]:
    """Return the encodings of graphs, one after the other: (nodes, columns), and (graphs, size) or None.

    Parameters
    ----------
    num_nodes, num_edges
        (graphs,) each.
    src, dst
        (edges,): ends of every edge, counted from 0 within its graph.
    encoding
        Which kind, and its size.
    undirected
        Whether an edge counts in both directions.
    molecules
        Returns the descriptors of the graphs' molecules, (graphs, size); None where the molecules are not known.
    """
    kind = KINDS[encoding.kind]
    if kind.compute is None:  # without molecules all of their descriptors are missing
        missing = np.full((len(num_nodes), encoding.size), np.nan, np.float32)
        return np.zeros((int(num_nodes.sum()), 0), np.float32), missing if molecules is None else molecules()
    nodes, values = [], []
    first = 0
    for n, edges in zip(num_nodes.tolist(), num_edges.tolist(), strict=True):
        part = slice(first, first + edges)
        graph = _simple(n, src[part], dst[part], symmetric=undirected or kind.symmetric)
        encoded = kind.compute(graph, encoding.size)
        nodes.append(encoded.nodes)
        if encoded.values is not None:
            values.append(encoded.values)
        first += edges
    columns = kind.columns * encoding.size
    return (
        np.concatenate(nodes).astype(np.float32) if nodes else np.zeros((0, columns), np.float32),
        np.stack(values).astype(np.float32) if values else None,
    )


def _simple(n: int, src: Integers, dst: Integers, *, symmetric: bool) -> dgl.DGLGraph:
    """Return the graph without duplicate edges."""
    keys = src.astype(np.int64) * n + dst
    if symmetric:
        keys = np.concatenate([keys, dst.astype(np.int64) * n + src])
    keys = np.unique(keys)
    return dgl.graph((torch.from_numpy(keys // n), torch.from_numpy(keys % n)), num_nodes=n)

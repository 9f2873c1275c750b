"""PATTERN and CLUSTER graphs drawn by the published procedure (Dwivedi et al., Benchmarking Graph Neural Networks).

Graphs are undirected, without self-loops, and come with their nodes in random order: the order is drawn first and the
edges for nodes in that order, which is the same as permuting at the end. Every graph has a random generator of its own,
seeded with the seed, what it is for, its split and its number, so nothing depends on how the work is shared out.
"""

import functools

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.sources.raw_graphs import Graphs

SIZES = (5, 35)  # nodes of a community or pattern: 5..34
NUM_PATTERNS = 100
_GRAPH, _PATTERN = 0, 1  # what a generator is for

Sample = tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Adjacency (n, n), feature (n,), label (n,)."""


def make_run(name: str, seed: int, split: int, first: int, last: int) -> Graphs:
    """Return graphs first..last-1 of a split (0, 1, 2 for train, valid, test) of ``"pattern"`` or ``"cluster"``."""
    draw = {"pattern": _draw_pattern, "cluster": _draw_cluster}[name]
    samples = [draw(seed, split, number) for number in range(first, last)]
    edges = [np.nonzero(adjacency) for adjacency, _, _ in samples]
    num_edges = np.array([len(src) for src, _ in edges])
    return Graphs(
        num_nodes=np.array([len(adjacency) for adjacency, _, _ in samples]),
        num_edges=num_edges,
        node_feat=np.concatenate([feat for _, feat, _ in samples])[:, None],
        src=np.concatenate([src for src, _ in edges]),
        dst=np.concatenate([dst for _, dst in edges]),
        edge_type=np.zeros(num_edges.sum(), np.int64),
        label=np.concatenate([label for _, _, label in samples]),
    )


def _draw_cluster(seed: int, split: int, number: int) -> Sample:
    """Draw 6 communities, p = 0.55, q = 0.25; one node of community r has feature r + 1, all others have 0."""
    random = np.random.default_rng([seed, _GRAPH, split, number])
    community = random.permutation(np.repeat(np.arange(6), random.integers(*SIZES, size=6)))
    feat = np.zeros(len(community), np.int64)
    for r in range(6):
        feat[random.choice(np.flatnonzero(community == r))] = r + 1
    probability = np.where(community[:, None] == community, 0.55, 0.25)
    return _undirected(random, probability), feat, community


def _draw_pattern(seed: int, split: int, number: int) -> Sample:
    """Draw a host of 5 communities, p = 0.5, q = 0.35, and one of 100 patterns joined to it with probability 0.5."""
    random = np.random.default_rng([seed, _GRAPH, split, number])
    inner, inner_feat = _pattern(seed, number % NUM_PATTERNS)
    sizes = random.integers(*SIZES, size=5)
    # Community 5 is the pattern: its nodes lie anywhere, in any order, with the edges and features they always have.
    community = random.permutation(np.repeat(np.arange(6), [*sizes, len(inner)]))
    nodes = random.permutation(np.flatnonzero(community == 5))
    probability = np.where(community[:, None] == community, 0.5, 0.35)
    probability[nodes] = probability[:, nodes] = 0.5
    adjacency = _undirected(random, probability)
    adjacency[np.ix_(nodes, nodes)] = inner
    feat = random.integers(3, size=len(community))
    feat[nodes] = inner_feat
    return adjacency, feat, (community == 5).astype(np.int64)


@functools.lru_cache(maxsize=NUM_PATTERNS)
def _pattern(seed: int, number: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Return a pattern's edges, probability 0.5 each, and features, uniform in {0, 1, 2}."""
    random = np.random.default_rng([seed, _PATTERN, number])
    size = random.integers(*SIZES)
    return _undirected(random, np.full((size, size), 0.5)), random.integers(3, size=size)


def _undirected(random: np.random.Generator, probability: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    upper = np.triu(random.random(probability.shape) < probability, 1)
    return upper | upper.T

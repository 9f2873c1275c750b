"""The batches that are measured: real molecules where ../shared/data has them, else generated graphs of their sizes."""

import gzip
from pathlib import Path
from typing import Any

import dgl
import numpy as np
import torch

from grpe_dgl.data.catalogue import schema_of
from grpe_dgl.transforms import AddVirtualNode, ToPairGraph

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "raw"
MAX_DISTANCE = 5


def _facts(dataset: str) -> tuple[int, tuple[int, ...]]:
    """Return a dataset's number of edge types and the values of each node column."""
    schema = schema_of(dataset)
    assert schema.node_vocabulary is not None
    return schema.num_edge_types, schema.node_vocabulary


ZINC_EDGE_TYPES, ZINC_VOCABULARY = _facts("zinc")
MOLHIV_EDGE_TYPES, MOLHIV_VOCABULARY = _facts("molhiv")
CLUSTER_EDGE_TYPES, CLUSTER_VOCABULARY = _facts("cluster")


def zinc(batch_size: int) -> dgl.DGLGraph:
    """Return the pair graph of the first `batch_size` molecules of ZINC-12k's validation split."""
    return _pairs(zinc_graphs(batch_size), ZINC_EDGE_TYPES)


def zinc_graphs(count: int) -> list[dgl.DGLGraph]:
    """Return the first `count` molecules of ZINC-12k's validation split."""
    if (SHARED / "dgl").is_dir():
        data = dgl.data.ZINCDataset(mode="valid", raw_dir=str(SHARED / "dgl"))
        return [data[index][0] for index in range(count)]
    rng = np.random.default_rng(0)
    sizes = rng.normal(23.2, 4.5, count).round().clip(9, 37).astype(int)
    return [_molecule(int(n), ZINC_EDGE_TYPES, ZINC_VOCABULARY, rng) for n in sizes]


def molhiv(batch_size: int) -> dgl.DGLGraph:
    """Return the pair graph of the first `batch_size` molecules of ogbg-molhiv."""
    folder = SHARED / "ogb" / "ogbg_molhiv" / "raw"
    if not folder.is_dir():
        rng = np.random.default_rng(0)
        sizes = rng.normal(25.5, 10, batch_size).round().clip(4, 90).astype(int)
        return _pairs([_molecule(int(n), MOLHIV_EDGE_TYPES, MOLHIV_VOCABULARY, rng) for n in sizes], MOLHIV_EDGE_TYPES)
    nodes, edges = (_rows(folder / f"num-{kind}-list.csv.gz", batch_size)[:, 0] for kind in ("node", "edge"))
    feat = torch.from_numpy(_rows(folder / "node-feat.csv.gz", int(nodes.sum())))
    ends = torch.from_numpy(_rows(folder / "edge.csv.gz", int(edges.sum())))
    bonds = torch.from_numpy(_rows(folder / "edge-feat.csv.gz", int(edges.sum()))) @ torch.tensor([12, 2, 1])
    graphs = []
    for count, x, end, bond in zip(
        nodes, feat.split(nodes.tolist()), ends.split(edges.tolist()), bonds.split(edges.tolist()), strict=True
    ):
        graph = dgl.graph((end[:, 0], end[:, 1]), num_nodes=int(count))
        graph.ndata["feat"], graph.edata["feat"] = x, bond
        graphs.append(graph)
    return _pairs(graphs, MOLHIV_EDGE_TYPES)


def cluster(batch_size: int) -> dgl.DGLGraph:
    """Return the pair graph of generated graphs like CLUSTER's: six communities, 40 to 190 nodes."""
    rng = np.random.default_rng(0)
    graphs = []
    for n in rng.integers(40, 191, batch_size):
        community = rng.integers(0, 6, n)
        chance = np.where(community[:, None] == community[None, :], 0.55, 0.25)
        src, dst = np.nonzero(np.triu(rng.random((n, n)) < chance, 1))
        graph = dgl.graph((torch.from_numpy(src), torch.from_numpy(dst)), num_nodes=int(n))
        graph.ndata["feat"] = torch.from_numpy(rng.integers(0, 7, n))
        graphs.append(graph)
    return _pairs(graphs, CLUSTER_EDGE_TYPES)


def equal_sizes(nodes: int, pairs: int) -> dgl.DGLGraph:
    """Return the pair graph of as many random trees of `nodes` nodes as have about `pairs` pairs."""
    rng = np.random.default_rng(0)
    graphs = [_molecule(nodes - 1, 1, (7,), rng) for _ in range(max(1, round(pairs / nodes**2)))]
    return _pairs(graphs, 1)


def _pairs(graphs: list[dgl.DGLGraph], num_edge_types: int) -> dgl.DGLGraph:
    return ToPairGraph(MAX_DISTANCE, num_edge_types)(AddVirtualNode()(dgl.batch(graphs)))


def _molecule(n: int, edge_types: int, vocabulary: tuple[int, ...], rng: np.random.Generator) -> dgl.DGLGraph:
    """Return a random tree of degree about two, with a few edges that close rings."""
    src = np.arange(1, n)
    dst = np.maximum(src - rng.integers(1, 4, n - 1), 0)
    rings = rng.integers(0, n, (max(n // 10, 0), 2))
    graph = dgl.graph((np.concatenate([src, rings[:, 0]]), np.concatenate([dst, rings[:, 1]])), num_nodes=n)
    columns = np.stack([rng.integers(0, size, n) for size in vocabulary], 1)
    graph.ndata["feat"] = torch.from_numpy(columns)
    graph.edata["feat"] = torch.from_numpy(rng.integers(0, edge_types, graph.num_edges()))
    return graph


def _rows(path: Path, count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    with gzip.open(path, "rt") as file:
        return np.loadtxt(file, delimiter=",", dtype=np.int64, max_rows=count, ndmin=2)

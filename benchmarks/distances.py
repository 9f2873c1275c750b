"""All-pairs shortest distances against `dgl.shortest_dist`: ``python -m benchmarks.distances``."""

import warnings

import dgl
import numba
import numpy as np

from benchmarks import workloads
from benchmarks.measure import arguments, interleaved, ratios, report, save
from grpe_dgl.transforms.shortest_paths import all_pairs_distances


def compare(graphs: list[dgl.DGLGraph], rounds: int) -> dict[str, object]:
    """Time the kernel on all graphs at once, on one thread and on all, against DGL graph by graph."""
    batch = dgl.batch(graphs)
    nodes, edges = batch.batch_num_nodes().numpy(), batch.batch_num_edges().numpy()
    first_node = np.repeat(np.cumsum(nodes) - nodes, edges)
    src, dst = (end.numpy() - first_node for end in batch.edges(order="eid"))
    node_offsets, edge_offsets = (np.concatenate([[0], np.cumsum(sizes)]) for sizes in (nodes, edges))
    every = numba.get_num_threads()

    def ours(threads: int) -> np.ndarray:
        numba.set_num_threads(threads)
        return all_pairs_distances(node_offsets, edge_offsets, src, dst)

    def theirs() -> list[np.ndarray]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [dgl.shortest_dist(graph).numpy() for graph in graphs]

    assert all(
        np.array_equal(ours(every)[first : first + n * n], np.where(d.T < 0, 255, d.T).ravel())
        for d, n, first in zip(theirs(), nodes, np.cumsum(nodes**2) - nodes**2, strict=True)
    )
    seconds = interleaved(
        {"kernel": lambda: ours(every), "kernel, one thread": lambda: ours(1), "dgl.shortest_dist": theirs}, rounds
    )
    return ratios(seconds, "kernel")


def main() -> None:
    options = arguments("All-pairs shortest distances against dgl.shortest_dist")
    numba.set_num_threads(min(options.threads, numba.get_num_threads()))
    loads = {"1,000 molecules of ZINC": workloads.zinc_graphs(1000), "100 SBM graphs of 120 nodes": sbm_graphs(100)}
    rows = [{"graphs": name, **compare(graphs, options.rounds)} for name, graphs in loads.items()]
    report("distances (medians of interleaved runs)", rows)
    save(options.json, {"distances": rows})


def sbm_graphs(count: int) -> list[dgl.DGLGraph]:
    """Return graphs of six communities of 20 nodes, joined as CLUSTER's: 0.55 inside, 0.25 between."""
    rng = np.random.default_rng(0)
    community = np.repeat(np.arange(6), 20)
    chance = np.where(community[:, None] == community, 0.55, 0.25)
    graphs = []
    for _ in range(count):
        upper = np.triu(rng.random((120, 120)) < chance, 1)
        src, dst = np.nonzero(upper | upper.T)
        graphs.append(dgl.graph((src, dst), num_nodes=120))
    return graphs


if __name__ == "__main__":
    main()

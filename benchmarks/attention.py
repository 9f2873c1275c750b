"""Time the backends of relative attention, forward and backward: ``python -m benchmarks.attention``."""

from collections.abc import Callable
from typing import Any

import dgl
import torch
from torch import Tensor, nn

from benchmarks import workloads
from benchmarks.measure import interleaved, ratios, run_tables
from grpe_dgl.nn import GRPELayer, RelationEncodings
from grpe_dgl.ops import relative_attention
from grpe_dgl.relations import Relations

SMALL, STANDARD = (8, 10), (32, 24)  # heads and head size


def operation(
    pairs: dgl.DGLGraph, heads: int, head_size: int, num_edge_types: int, dropout: float = 0.0
) -> Callable[[str], Callable[[], None]]:
    """Return a function that takes a backend and returns one that runs the operation forward and backward."""
    torch.manual_seed(0)
    # Views of one matrix, as a layer's projection makes them, but leaves: joining their gradients is not measured.
    packed = torch.randn(pairs.num_nodes(), 3, heads, head_size)
    q, k, v = (x.requires_grad_() for x in packed.unbind(1))
    relations = len(Relations(workloads.MAX_DISTANCE, num_edge_types))
    tables = [torch.randn(relations, heads, head_size, requires_grad=True) for _ in range(3)]
    grad = torch.randn(pairs.num_nodes(), heads, head_size)

    def with_backend(backend: str) -> Callable[[], None]:
        def run() -> None:
            for x in (q, k, v, *tables):
                x.grad = None
            relative_attention(pairs, q, k, v, *tables, dropout=dropout, backend=backend).backward(grad)

        return run

    return with_backend


def backends(rounds: int) -> list[dict[str, Any]]:
    rows = []
    for name, pairs, (heads, head_size), edge_types, dropout in (
        ("ZINC, batch 128", workloads.zinc(128), SMALL, workloads.ZINC_EDGE_TYPES, 0.0),
        ("ZINC, batch 256", workloads.zinc(256), SMALL, workloads.ZINC_EDGE_TYPES, 0.0),
        ("ZINC, batch 128, dropout 0.1", workloads.zinc(128), SMALL, workloads.ZINC_EDGE_TYPES, 0.1),
        ("CLUSTER-like, batch 32", workloads.cluster(32), SMALL, workloads.CLUSTER_EDGE_TYPES, 0.0),
        ("molhiv, batch 64", workloads.molhiv(64), STANDARD, workloads.MOLHIV_EDGE_TYPES, 0.0),
    ):
        make = operation(pairs, heads, head_size, edge_types, dropout)
        seconds = interleaved({backend: make(backend) for backend in ("fused", "dense", "dgl")}, rounds)
        rows.append({"batch": name, "pairs": pairs.num_edges(), **ratios(seconds, "fused")})
    return rows


def growth(rounds: int) -> list[dict[str, Any]]:
    sizes = (50, 100, 200, 400, 800)
    batches = {n: workloads.equal_sizes(n, 640_000) for n in sizes}
    runs = {str(n): operation(batches[n], *SMALL, 1)("fused") for n in sizes}
    seconds = interleaved(runs, rounds)
    per_pair = {n: 1e9 * seconds[str(n)] / batches[n].num_edges() for n in sizes}
    return [
        {"nodes": n, "ns per pair": round(per_pair[n], 2), "against 50 nodes": round(per_pair[n] / per_pair[50], 2)}
        for n in sizes
    ]


def graphormer(rounds: int) -> list[dict[str, Any]]:
    """Compare one layer with DGL's own GraphormerLayer, its bias computed beforehand: the alternative within DGL."""
    rows = []
    for name, pairs, (heads, head_size), edge_types in (
        ("ZINC, batch 128", workloads.zinc(128), SMALL, workloads.ZINC_EDGE_TYPES),
        ("CLUSTER-like, batch 32", workloads.cluster(32), SMALL, workloads.CLUSTER_EDGE_TYPES),
        ("molhiv, batch 64", workloads.molhiv(64), STANDARD, workloads.MOLHIV_EDGE_TYPES),
    ):
        torch.manual_seed(0)
        width, sizes = heads * head_size, pairs.batch_num_nodes()
        batch, most = len(sizes), int(sizes.max())
        ours = GRPELayer(width, heads, width)
        encodings = RelationEncodings(workloads.MAX_DISTANCE, edge_types, width, heads)
        theirs = dgl.nn.GraphormerLayer(width, width, heads, norm_first=True, activation=nn.GELU())
        x = torch.randn(pairs.num_nodes(), width, requires_grad=True)
        padded = torch.randn(batch, most, width, requires_grad=True)
        bias = torch.randn(batch, most, most, heads, requires_grad=True)
        absent = torch.arange(most) >= sizes.unsqueeze(-1)  # (B, N)
        mask = absent.unsqueeze(1).expand(-1, most, -1).contiguous()

        def grpe(
            ours: nn.Module = ours, x: Tensor = x, encodings: nn.Module = encodings, pairs: dgl.DGLGraph = pairs
        ) -> None:
            ours(pairs, x, encodings()).sum().backward()

        def theirs_run(
            theirs: nn.Module = theirs, padded: Tensor = padded, bias: Tensor = bias, mask: Tensor = mask
        ) -> None:
            theirs(padded, bias, mask).sum().backward()

        seconds = interleaved({"GRPELayer": grpe, "GraphormerLayer": theirs_run}, rounds)
        rows.append({"batch": name, **ratios(seconds, "GRPELayer")})
    return rows


TABLES = {
    "operation, forward and backward": backends,
    "growth of the fused kernel with graph size": growth,
    "one layer, forward and backward": graphormer,
}

if __name__ == "__main__":
    run_tables(TABLES, __doc__ or "")

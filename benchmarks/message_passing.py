"""A training step of GIN and GatedGCN (16 layers, 128 ZINC molecules) beside the same layers in a plain DGL loop.

Both assemble the batch, predict and differentiate: ours from the dataset's arrays, the plain loop with ``dgl.batch``.
"""

import tempfile
from pathlib import Path
from typing import Any

import dgl
import dgl.function as fn
import numpy as np
import torch
from torch import nn

import grpe_dgl.data
from benchmarks.measure import arguments, interleaved, ratios, report, save
from benchmarks.workloads import ZINC_EDGE_TYPES, ZINC_VOCABULARY, zinc_graphs
from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.families import settings_class

BATCH = 128


class PlainGIN(nn.Module):
    """GIN of benchmarking-gnns, written with `dgl.nn.GINConv`."""

    def __init__(self, layers: int, width: int) -> None:
        super().__init__()
        self.nodes = nn.Embedding(ZINC_VOCABULARY[0], width)
        self.convolutions = nn.ModuleList(
            dgl.nn.GINConv(
                nn.Sequential(nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width)),
                "sum",
                learn_eps=True,
            )
            for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(layers))
        self.reads = nn.ModuleList(nn.Linear(width, 1) for _ in range(layers + 1))
        self.pool = dgl.nn.SumPooling()

    def forward(self, graph: dgl.DGLGraph) -> torch.Tensor:
        """Predict."""
        x = self.nodes(graph.ndata["feat"])
        states = [x]
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = x + torch.relu(norm(convolution(graph, x)))
            states.append(x)
        return sum(read(self.pool(graph, state)) for read, state in zip(self.reads, states, strict=True))


class PlainGatedGCN(nn.Module):
    """GatedGCN with edges of benchmarking-gnns, written with ``apply_edges`` and ``update_all`` as there."""

    def __init__(self, layers: int, width: int) -> None:
        super().__init__()
        self.nodes = nn.Embedding(ZINC_VOCABULARY[0], width)
        self.edges = nn.Embedding(ZINC_EDGE_TYPES, width)
        self.maps = nn.ModuleList(nn.ModuleList(nn.Linear(width, width) for _ in range(5)) for _ in range(layers))
        self.norms = nn.ModuleList(nn.ModuleList(nn.BatchNorm1d(width) for _ in range(2)) for _ in range(layers))
        self.head = nn.Sequential(
            nn.Linear(width, width // 2), nn.ReLU(), nn.Linear(width // 2, width // 4), nn.ReLU(),
            nn.Linear(width // 4, 1),
        )  # fmt: skip

    def forward(self, graph: dgl.DGLGraph) -> torch.Tensor:
        """Predict."""
        h, e = self.nodes(graph.ndata["feat"]), self.edges(graph.edata["feat"])
        maps: Any = self.maps
        norms: Any = self.norms
        for (a, b, c, d, f), (node_norm, edge_norm) in zip(maps, norms, strict=True):
            graph.ndata.update({"Ah": a(h), "Bh": b(h), "Dh": d(h), "Eh": f(h)})
            graph.apply_edges(fn.u_add_v("Dh", "Eh", "DEh"))
            gate = graph.edata["DEh"] + c(e)
            graph.edata["sigma"] = torch.sigmoid(gate)
            graph.update_all(fn.u_mul_e("Bh", "sigma", "m"), fn.sum("m", "sum_sigma_h"))
            graph.update_all(fn.copy_e("sigma", "m"), fn.sum("m", "sum_sigma"))
            mean = graph.ndata["sum_sigma_h"] / (graph.ndata["sum_sigma"] + 1e-6)
            h = h + torch.relu(node_norm(graph.ndata["Ah"] + mean))
            e = e + torch.relu(edge_norm(gate))
        graph.ndata["h"] = h
        return self.head(dgl.mean_nodes(graph, "h"))


PLAIN = {"gin": PlainGIN, "gatedgcn": PlainGatedGCN}


def main() -> None:
    """Measure both families."""
    options = arguments(__doc__)
    graphs = zinc_graphs(4 * BATCH)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        splits = {"train": range(len(graphs)), "valid": range(0), "test": range(0)}
        path = Path(folder) / "zinc"
        grpe_dgl.data.write(
            path, graphs, np.zeros(len(graphs)), splits, task="regression", node_vocabulary=ZINC_VOCABULARY,
            num_edge_types=ZINC_EDGE_TYPES,
        )  # fmt: skip
        for family, plain_class in PLAIN.items():
            settings = settings_class(family)(**settings_class(family).PRESETS["500k"])
            data = grpe_dgl.data.load(path, view=settings.view)
            ours = build_model(settings, data.schema).train()
            sizes = settings_class(family).PRESETS["500k"]
            plain = plain_class(sizes["layers"], sizes["hidden_size"]).train()
            order = np.random.default_rng(0)

            def step(data: grpe_dgl.data.Dataset = data, ours: nn.Module = ours, order=order) -> None:  # type: ignore[no-untyped-def]
                batch = data.batch(order.choice(len(graphs), BATCH, replace=False))
                ours(batch.graph).abs().mean().backward()

            def plain_step(plain: nn.Module = plain, order=order) -> None:  # type: ignore[no-untyped-def]
                batch = dgl.batch([graphs[i] for i in order.choice(len(graphs), BATCH, replace=False)])
                plain(batch).abs().mean().backward()

            seconds = interleaved({"ours": step, "plain DGL": plain_step}, options.rounds)
            rows.append({"model": family, **ratios(seconds, "ours")})
    report(f"training step without optimiser, {BATCH} ZINC molecules, 16 layers", rows)
    save(options.json, {"message_passing": rows})


if __name__ == "__main__":
    main()

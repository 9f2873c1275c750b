"""Figures of the data pipeline: ``python -m benchmarks.data [FIGURE ...]``.

Each figure prints what was measured, what it is compared with and, where there is one, the bound.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import molecules

RAW = Path(__file__).parents[2] / "shared" / "data" / "raw"


def assembly(raw: Path, scratch: Path) -> None:
    """Time of batch assembly as a share of a training step, GRPE-Small on ZINC at batch 256."""
    import torch

    import grpe_dgl.data
    from grpe_dgl.nn import GRPE
    from grpe_dgl.ops.relative_attention import BACKENDS

    data = grpe_dgl.data.load(_zinc(raw, scratch))
    backend = "auto" if "auto" in BACKENDS else BACKENDS[0]
    torch.manual_seed(0)
    model = GRPE.from_preset(
        "small",
        num_outputs=1,
        max_distance=5,
        num_edge_types=data.schema.num_edge_types,
        node_vocabulary=data.schema.node_vocabulary,
        backend=backend,
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batches = data.train.batches(batch_size=256, shuffle=True).epoch(0)
    assembled, stepped = [], []
    for step in range(2 + 9):
        begin = time.perf_counter()
        pairs, label, _ = next(batches)
        middle = time.perf_counter()
        loss = (model(pairs) - label).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step >= 2:  # the first ones compile
            assembled.append(middle - begin)
            stepped.append(time.perf_counter() - begin)
    share = statistics.median(assembled) / statistics.median(stepped)
    print(
        f"assembly: {statistics.median(assembled) * 1e3:.2f} ms of a step of {statistics.median(stepped) * 1e3:.0f} ms "
        f"(GRPE-Small, ZINC, batch 256, backend {backend}): {share:.2%}, at most 5%"
    )


def graph_view(raw: Path, scratch: Path) -> None:
    """Time of a batch of 128 ZINC molecules as the graph itself, beside `dgl.batch` of the same graphs."""
    import dgl
    import torch

    import grpe_dgl.data
    from grpe_dgl.views import GraphView

    data = grpe_dgl.data.load(_zinc(raw, scratch), view=GraphView())
    index = data.train.index[:128]
    graphs = [data.graph(int(number)) for number in index]
    labels = [data.train[place][1] for place in range(len(index))]
    ours, theirs, whole = [], [], []
    for round_ in range(2 + 25):
        begin = time.perf_counter()
        data.batch(index)
        middle = time.perf_counter()
        dgl.batch(graphs), torch.stack(labels)
        end = time.perf_counter()
        dgl.batch([data.graph(int(number)) for number in index])
        if round_ >= 2:  # the first ones compile
            ours.append(middle - begin)
            theirs.append(end - middle)
            whole.append(time.perf_counter() - end)
    own = statistics.median(ours)
    print(
        f"graph-view: {own * 1e3:.2f} ms for 128 ZINC molecules; dgl.batch of Dataset.graph(i) takes "
        f"{statistics.median(whole) / own:.0f} times as long, at least 20; of graphs that are in memory already "
        f"{statistics.median(theirs) / own:.1f} times"
    )


def zinc_size(raw: Path, scratch: Path) -> None:
    """Size on disk of ZINC-12k beside DGL's file of the same graphs with all-pairs int64 distances."""
    _compare_size("zinc-size", _zinc(raw, scratch), scratch)


def molhiv_size(raw: Path, scratch: Path) -> None:
    """Size on disk of ogbg-molhiv beside DGL's file of the same graphs with all-pairs int64 distances."""
    _compare_size("molhiv-size", molecules.molhiv(raw, scratch), scratch)


def _compare_size(figure: str, path: Path, scratch: Path) -> None:
    """Write a dataset's graphs, labels and distances as DGL would, and compare sizes."""
    import dgl
    import numpy as np
    import torch

    import grpe_dgl.data

    data = grpe_dgl.data.load(path)
    graphs = [data.graph(number) for number in range(len(data))]
    file = scratch / "dgl.bin"
    tensors = {
        "label": torch.from_numpy(data.store.label.copy()),
        "distance": torch.from_numpy(data.store.distance.astype(np.int64)),
    }
    dgl.save_graphs(str(file), graphs, tensors)
    ours = sum(part.stat().st_size for part in path.iterdir())
    theirs = file.stat().st_size
    file.unlink()
    print(f"{figure}: {ours / 1e6:.1f} MB, DGL's .bin {theirs / 1e6:.1f} MB: {theirs / ours:.1f} times smaller")


def _zinc(raw: Path, scratch: Path) -> Path:
    from grpe_dgl.data.sources.zinc import zinc
    from grpe_dgl.data.store.preprocess import preprocess

    path = scratch / "zinc"
    if not path.exists():
        preprocess(zinc(raw / "dgl"), path)
    return path


FIGURES: dict[str, Callable[[Path, Path], None]] = {
    "assembly": assembly,
    "graph-view": graph_view,
    "zinc-size": zinc_size,
    "molhiv-size": molhiv_size,
    "molhiv-time": molecules.molhiv_time,
    "smiles": molecules.smiles,
    "million": molecules.million,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", nargs="*", choices=[*FIGURES, []], default=[], help="all if none is named")
    parser.add_argument(
        "--raw", type=Path, default=RAW, help="the folder that holds the publishers' dgl and ogb folders"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.figure or FIGURES:
            FIGURES[name](arguments.raw, Path(scratch))


if __name__ == "__main__":
    main()

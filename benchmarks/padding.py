"""How much of a padded batch is padding, before and after grouping: ``python -m benchmarks.padding``."""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.molecules import molhiv

RAW = Path(__file__).parents[2] / "shared" / "data" / "raw"
BOUND = 1.25


def zinc(raw: Path, scratch: Path) -> Path:
    from grpe_dgl.data.sources.zinc import zinc as source
    from grpe_dgl.data.store.preprocess import preprocess

    preprocess(source(raw / "dgl"), scratch / "zinc")
    return scratch / "zinc"


def pattern(raw: Path, scratch: Path) -> Path:
    """Generate graphs like PATTERN's: a node-level task."""
    from grpe_dgl.data.sources.sbm import generated
    from grpe_dgl.data.store.preprocess import preprocess

    preprocess(generated("pattern", graphs=(600, 50, 50)), scratch / "pattern")
    return scratch / "pattern"


def measure(name: str, path: Path, batch_size: int) -> None:
    """Print padded over real pairs over a shuffled epoch, and what grouping and assembly take."""
    import grpe_dgl.data
    from grpe_dgl.data.batching.groups import group_by_size, padded_pairs
    from grpe_dgl.data.batching.parts import Division, collate_parts

    data = grpe_dgl.data.load(path)
    group_by_size(np.array([3, 4]))  # compiles
    collate_parts(data.store, data.train.index[:2], data.view, Division(padded=True))
    before, after, groups, grouping, assembly = [], [], [], 0.0, 0.0
    for index in data.train.batches(batch_size=batch_size, shuffle=True).indices(0):
        sizes = data.num_nodes(index)
        begin = time.perf_counter()
        found = group_by_size(sizes)
        grouping += time.perf_counter() - begin
        real = int((sizes**2).sum())
        before.append(len(sizes) * int(sizes.max()) ** 2 / real)
        after.append(padded_pairs(sizes, found) / real)
        groups.append(len(found))
        begin = time.perf_counter()
        collate_parts(data.store, index, data.view, Division(padded=True))
        assembly += time.perf_counter() - begin
    print(
        f"{name}, batch {batch_size}: padded over real pairs {np.mean(before):.3f} in one piece, {np.mean(after):.3f} "
        f"in groups (at most {BOUND}), {np.mean(groups):.1f} groups on average, at most {max(groups)}; a batch takes "
        f"{assembly / len(after) * 1e3:.2f} ms to assemble, {grouping / len(after) * 1e3:.3f} ms of it grouping"
    )
    if np.mean(after) > BOUND or max(groups) > 6:
        raise SystemExit(f"{name}: more than the bound")


DATASETS: dict[str, tuple[Callable[[Path, Path], Path], int]] = {
    "zinc": (zinc, 256),
    "molhiv": (molhiv, 64),
    "pattern": (pattern, 26),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", nargs="*", choices=[*DATASETS, []], default=[], help="all if none is named")
    parser.add_argument("--raw", type=Path, default=RAW, help="the folder of the publishers' dgl and ogb folders")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.dataset or DATASETS:
            make, batch_size = DATASETS[name]
            measure(name, make(arguments.raw, Path(scratch)), batch_size)


if __name__ == "__main__":
    main()

"""Write a processed dataset run by run; memory grows by only a few bytes per graph."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.data.sources.raw_graphs import Skipped
from grpe_dgl.data.sources.source import Source
from grpe_dgl.data.store.array_file import ArrayFile, write_array
from grpe_dgl.data.store.manifest import FILE, ArrayEntry, Manifest, check_split_name, smallest_unsigned
from grpe_dgl.data.store.validation import PackedRun, label_dtype, node_dtype
from grpe_dgl.errors import InputError
from grpe_dgl.messages import counted
from grpe_dgl.offsets import offsets_of

Splits = Mapping[str, npt.NDArray[np.int64]]
SHOWN = 5  # skipped rows in an error
_CHUNK = 1 << 16  # graphs whose labels are read at a time


class StoreWriter:
    """Writes a source's runs into a folder, which is a valid dataset only after `finish`.

    Parameters
    ----------
    folder
        An empty folder (see `grpe_dgl.io.atomic_folder`).
    source
        The source of the runs; its jobs are not run here.
    """

    def __init__(self, folder: Path, source: Source) -> None:
        self._folder = folder
        self._source = source
        schema = source.schema
        targets = None if schema.task.kind == "multiclass" else len(schema.task.targets)
        self._files = {
            "node_feat": self._array("node_feat", node_dtype(schema), schema.num_node_columns),
            "src": self._array("src", np.uint8),
            "dst": self._array("dst", np.uint8),
            "edge_type": self._array("edge_type", smallest_unsigned(schema.num_edge_types - 1)),
            "distance": self._array("distance", np.uint8),
            "label": self._array("label", label_dtype(schema), targets),
        }
        self._skipped_file = (folder / "skipped.csv").open("w", newline="", encoding="utf-8")
        self._skipped = csv.writer(self._skipped_file)
        self._skipped.writerow(["row", "reason"])
        self._first_skipped: list[Skipped] = []
        self._weight: list[npt.NDArray[np.float32]] = []
        self._smiles: ArrayFile | None = None  # opened with the first run that has SMILES
        self._smiles_sizes: list[npt.NDArray[np.int64]] = []
        self._num_nodes: list[npt.NDArray[np.uint32]] = []
        self._num_edges: list[npt.NDArray[np.uint32]] = []
        self._rows: list[npt.NDArray[Any]] = []
        self.num_graphs = self.num_skipped = self.num_rows = 0

    def append(self, run: PackedRun) -> None:
        """Append a run."""
        graphs = run.graphs
        for name in ("node_feat", "src", "dst", "edge_type", "label"):
            self._files[name].append(getattr(graphs, name))
        self._files["distance"].append(run.distance)
        if graphs.smiles is not None:
            self._append_smiles(graphs.smiles)
        if graphs.weight is not None:
            self._weight.append(graphs.weight)
        self._num_nodes.append(graphs.num_nodes.astype(np.uint32))
        self._num_edges.append(graphs.num_edges.astype(np.uint32))
        self._rows.append(self._rows_of(run))
        self._skipped.writerows((skipped.row, skipped.reason) for skipped in graphs.skipped)
        self.num_graphs += len(graphs.num_nodes)
        self.num_skipped += len(graphs.skipped)
        self._first_skipped += graphs.skipped[: SHOWN - len(self._first_skipped)]

    def finish(self) -> Manifest:
        """Write the offsets, the splits and the manifest; return the manifest."""
        source = self._source
        if self.num_graphs == 0:
            reasons = "".join(f"\n  row {skipped.row}: {skipped.reason}" for skipped in self._first_skipped)
            raise InputError(
                f"{source.origin}: no row could be used; {counted(self.num_skipped, 'row')} skipped"
                f"{', the first of them' if self.num_skipped > SHOWN else ''}:{reasons}"
            )
        rows = np.concatenate(self._rows).astype(np.int64)
        arrays = {name: file.finish() for name, file in self._files.items()}
        self._skipped_file.close()
        num_nodes = np.concatenate(self._num_nodes).astype(np.int64)
        node_offsets = offsets_of(num_nodes)
        edge_offsets = offsets_of(np.concatenate(self._num_edges))
        pair_offsets = offsets_of(num_nodes * num_nodes)
        arrays["node_offsets"] = self._whole("node_offsets", node_offsets)
        arrays["edge_offsets"] = self._whole("edge_offsets", edge_offsets)
        arrays["pair_offsets"] = self._whole("pair_offsets", pair_offsets)
        arrays["row"] = self._whole("row", rows)
        if self._smiles is not None:
            sizes = np.concatenate(self._smiles_sizes)
            if len(sizes) != self.num_graphs:
                raise InputError(f"{len(sizes)} of {self.num_graphs} graphs have SMILES; accepted: all or none")
            arrays["smiles"] = self._smiles.finish()
            arrays["smiles_offsets"] = self._whole("smiles_offsets", offsets_of(sizes))

        if self._weight:
            weight = self._array("weight", np.float32)
            weight.append(np.concatenate(self._weight))
            arrays["weight"] = weight.finish()

        splits = {name: np.asarray(index, np.int64) for name, index in source.splits(rows).items()}
        _check_splits(splits, self.num_graphs)
        for name, index in splits.items():
            arrays[f"split-{name}"] = self._whole(f"split-{name}", index)
        schema = source.schema
        if schema.task.kind == "regression":
            starts = np.arange(self.num_graphs + 1) if schema.task.level == "graph" else node_offsets
            file = self._folder / "label.bin"
            schema = schema.with_target_statistics(*_statistics(file, arrays["label"], starts, splits.get("train")))

        manifest = Manifest(
            schema=schema,
            origin=source.origin,
            settings=dict(source.settings),
            num_graphs=self.num_graphs,
            num_nodes=int(node_offsets[-1]),
            num_edges=int(edge_offsets[-1]),
            num_pairs=int(pair_offsets[-1]),
            max_nodes=int(num_nodes.max()),
            num_rows=self.num_rows,
            num_skipped=self.num_skipped,
            splits={name: len(index) for name, index in splits.items()},
            arrays=dict(sorted(arrays.items())),
        )
        (self._folder / FILE).write_text(manifest.to_json(), encoding="utf-8")
        return manifest

    def close(self) -> None:
        """Close every file, finished or not."""
        for file in (*self._files.values(), *([self._smiles] if self._smiles is not None else [])):
            file.close()
        self._skipped_file.close()

    def _append_smiles(self, smiles: tuple[str, ...]) -> None:
        if self._smiles is None:
            self._smiles = self._array("smiles", np.uint8)
        texts = [text.encode() for text in smiles]
        self._smiles.append(np.frombuffer(b"".join(texts), np.uint8))
        self._smiles_sizes.append(np.array([len(text) for text in texts], np.int64))

    def _array(self, name: str, dtype: npt.DTypeLike, columns: int | None = None) -> ArrayFile:
        return ArrayFile(self._folder / f"{name}.bin", dtype, columns)

    def _whole(self, name: str, array: npt.NDArray[np.int64]) -> ArrayEntry:
        return write_array(self._folder / f"{name}.bin", array.astype(smallest_unsigned(array.max(initial=0))))

    def _rows_of(self, run: PackedRun) -> npt.NDArray[Any]:
        """Return the row that each graph of the run came from, in a small type, and count the rows read."""
        graphs = run.graphs
        skipped = [skip.row for skip in graphs.skipped]
        if graphs.row is not None:
            rows = np.asarray(graphs.row, np.int64)
            if rows.shape != graphs.num_nodes.shape:
                raise InputError(f"row has shape {rows.shape}; accepted: {graphs.num_nodes.shape}")
            self.num_rows += len(rows) + len(skipped)
        else:
            end = self.num_rows + len(graphs.num_nodes) + len(skipped)
            if any(not self.num_rows <= row < end for row in skipped):
                raise InputError(f"skipped rows {skipped[:3]}... lie outside the run's {self.num_rows}..{end - 1}")
            rows = np.setdiff1d(np.arange(self.num_rows, end), skipped, assume_unique=True)
            self.num_rows = end
        return rows.astype(smallest_unsigned(rows.max(initial=0)))


def _check_splits(splits: Splits, num_graphs: int) -> None:
    taken = np.zeros(num_graphs, np.bool_)
    for name, index in splits.items():
        check_split_name(name)
        if index.ndim != 1:
            raise InputError(f"split {name} has shape {index.shape}; accepted: (graphs,)")
        if len(index) and not 0 <= index.min() <= index.max() < num_graphs:
            wrong = index[(index < 0) | (index >= num_graphs)][0]
            raise InputError(f"split {name} names graph {wrong}; accepted: 0..{num_graphs - 1}")
        if taken[index].any() or len(np.unique(index)) < len(index):
            raise InputError(f"split {name} names a graph that it or another split already has")
        taken[index] = True


def _statistics(
    file: Path, entry: ArrayEntry, starts: npt.NDArray[np.int64], train: npt.NDArray[np.int64] | None
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return each target's mean and standard deviation over the training graphs, missing labels left out."""
    targets = entry.shape[1]
    count, mean, spread = np.zeros(targets), np.zeros(targets), np.zeros(targets)
    label = np.memmap(file, "<f4", "r", shape=entry.shape)
    for first in range(0, 0 if train is None else len(train), _CHUNK):
        assert train is not None
        chunk = np.sort(train[first : first + _CHUNK])
        lengths = starts[chunk + 1] - starts[chunk]
        within = np.arange(lengths.sum()) - np.repeat(lengths.cumsum() - lengths, lengths)
        values = label[np.repeat(starts[chunk], lengths) + within].astype(np.float64)
        known = ~np.isnan(values)
        # Chan's update: exact where summing squares would cancel, as for large targets of small spread.
        n = known.sum(0)
        chunk_mean = np.where(known, values, 0.0).sum(0) / np.maximum(n, 1)
        chunk_spread = np.where(known, values - chunk_mean, 0.0).__pow__(2).sum(0)
        total = np.maximum(count + n, 1)
        spread += chunk_spread + (chunk_mean - mean) ** 2 * count * n / total
        mean += (chunk_mean - mean) * n / total
        count += n
    deviation = np.sqrt(spread / np.maximum(count, 1))
    return tuple(mean.tolist()), tuple(np.where(deviation > 0, deviation, 1.0).tolist())

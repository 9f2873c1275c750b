import json
import time

import numpy as np
import pytest

import grpe_dgl.data
from grpe_dgl.data.store.manifest import checksum
from grpe_dgl.data.store.store import Store
from grpe_dgl.errors import InputError
from grpe_dgl.views import GraphView, PairView
from tests.data.random_graphs import random_graphs


def edit(folder, **changes):
    content = {**json.loads((folder / "manifest.json").read_text()), **changes}
    del content["checksum"]
    (folder / "manifest.json").write_text(json.dumps({**content, "checksum": checksum(content)}))


def test_arrays_hold_the_graphs(regression):
    store, graphs = Store(regression), random_graphs(23)
    sizes = [graph.num_nodes() for graph in graphs]
    assert store.node_offsets.tolist() == [0, *np.cumsum(sizes)]
    assert store.pair_offsets.tolist() == [0, *np.cumsum(np.square(sizes))]
    assert store.edge_offsets.tolist() == [0, *np.cumsum([graph.num_edges() for graph in graphs])]
    np.testing.assert_array_equal(store.node_feat, np.concatenate([graph.ndata["feat"] for graph in graphs]))
    np.testing.assert_array_equal(store.src, np.concatenate([graph.edges(order="eid")[0] for graph in graphs]))
    np.testing.assert_array_equal(store.edge_type, np.concatenate([graph.edata["feat"] for graph in graphs]))
    assert store.row.tolist() == list(range(23))


def test_small_types(regression):
    dtypes = {name: entry.dtype for name, entry in Store(regression).manifest.arrays.items()}
    assert dtypes == {
        "distance": "uint8", "dst": "uint8", "edge_offsets": "uint8", "edge_type": "uint8", "label": "float32",
        "node_feat": "uint8", "node_offsets": "uint8", "pair_offsets": "uint16", "row": "uint8", "split-test": "uint8",
        "split-train": "uint8", "split-valid": "uint8", "src": "uint8",
    }  # fmt: skip


def test_nothing_but_flat_arrays_a_manifest_and_the_skipped_rows(regression):
    assert {file.suffix for file in regression.iterdir()} == {".bin", ".json", ".csv"}
    entries = Store(regression).manifest.arrays
    assert {file.stem for file in regression.glob("*.bin")} == set(entries)
    for name, entry in entries.items():
        assert (regression / f"{name}.bin").stat().st_size == entry.num_bytes


def test_mean_and_deviation_are_the_training_splits_without_missing_labels(regression):
    data = grpe_dgl.data.load(regression)
    labels = data.train.labels().double().numpy()
    np.testing.assert_allclose(data.schema.target_mean, np.nanmean(labels, 0), rtol=1e-12)
    np.testing.assert_allclose(data.schema.target_deviation, np.nanstd(labels, 0), rtol=1e-12)


def test_opening_takes_milliseconds(regression):
    Store(regression)
    begin = time.perf_counter()
    for _ in range(10):
        Store(regression)
    assert (time.perf_counter() - begin) / 10 < 0.05


@pytest.mark.parametrize("name", ["distance", "node_offsets", "split-valid", "label"])
def test_a_truncated_array_is_named(regression, name):
    file = regression / f"{name}.bin"
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    with pytest.raises(
        InputError, match=rf"{name}.bin is truncated: {len(content) - 1} bytes, expected {len(content)}"
    ):
        Store(regression)
    file.write_bytes(content + b"x")
    with pytest.raises(InputError, match=rf"{name}.bin is corrupt"):
        Store(regression)
    file.unlink()
    with pytest.raises(InputError, match=rf"{name}.bin cannot be read: No such file"):
        Store(regression)


def test_verify_finds_one_flipped_bit(regression):
    Store(regression).verify()
    file = regression / "distance.bin"
    content = bytearray(file.read_bytes())
    content[100] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"corrupt: .*distance.bin \(the SHA-256"):
        Store(regression).verify()


def test_offsets_that_do_not_fit_the_counts(regression):
    edit(regression, num_nodes=Store(regression).manifest.num_nodes - 1)
    with pytest.raises(InputError, match="node_feat has shape"):
        Store(regression)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format_version": 3}, r"has format version 3, written by grpe-dgl .*which reads up to 2: update it"),
        ({"format_version": "1"}, "is corrupt: format_version is '1'"),
        ({"format": "something"}, "is not a dataset"),
        ({"arrays": {}}, "names no array distance, dst"),
        ({"task": {}}, "is corrupt: KeyError"),
        ({"num_graphs": -1}, "is corrupt: num_graphs is -1"),
        ({"splits": {"../train": 1}}, "split is called '../train'"),
        ({"surprise": 1}, "is corrupt: TypeError"),
    ],
)
def test_wrong_manifests(regression, changes, message):
    edit(regression, **changes)
    with pytest.raises(InputError, match=message):
        Store(regression)


def test_not_json_and_not_there(regression, tmp_path):
    (regression / "manifest.json").write_text('{"format": ')
    with pytest.raises(InputError, match="manifest.json is corrupt: it is not JSON"):
        Store(regression)
    with pytest.raises(InputError, match="nowhere is not a dataset: found no folder$"):
        Store(tmp_path / "nowhere")
    with pytest.raises(InputError, match="found a folder without manifest.json"):
        Store(tmp_path)


def test_the_manifest_has_a_checksum_of_itself(regression):
    content = json.loads((regression / "manifest.json").read_text())
    (regression / "manifest.json").write_text(json.dumps({**content, "target_mean": [0.0, 0.0]}))
    with pytest.raises(InputError, match="manifest.json is corrupt: its checksum is not that of its content"):
        Store(regression)
    del content["checksum"]  # as before there were any
    (regression / "manifest.json").write_text(json.dumps(content))
    assert len(Store(regression)) == 23


@pytest.mark.parametrize(
    ("name", "dtype", "accepted"),
    [
        ("src", "int8", "uint8 or uint16"),
        ("distance", "int8", "uint8"),
        ("edge_type", "int8", "uint8 or uint16"),
        ("node_offsets", "int8", "uint8 or uint16"),
        ("split-valid", "int8", "uint8 or uint16"),
        ("label", "int32", "float32"),
    ],
)
def test_types_are_fixed(regression, name, dtype, accepted):
    arrays = json.loads((regression / "manifest.json").read_text())["arrays"]
    edit(regression, arrays={**arrays, name: {**arrays[name], "dtype": dtype}})
    with pytest.raises(InputError, match=f"is corrupt: {name} has dtype {dtype}, expected {accepted}"):
        Store(regression)


@pytest.mark.parametrize(("value", "message"), [(23, "names graph 23 of 23"), (3, "a graph is in its splits twice")])
def test_splits_are_checked_on_open(regression, value, message):
    file = regression / "split-valid.bin"
    file.write_bytes(bytes([value]) + file.read_bytes()[1:])
    with pytest.raises(InputError, match=message):
        Store(regression)


@pytest.mark.parametrize("name", ["node_offsets", "edge_offsets", "pair_offsets"])
def test_offsets_are_checked_for_every_batch(regression, name):
    file = regression / f"{name}.bin"
    content = bytearray(file.read_bytes())
    content[len(content) // 2 | 1] ^= 0x80
    file.write_bytes(content)
    data = grpe_dgl.data.load(regression)
    with pytest.raises(InputError, match="is corrupt: its .*offsets"):
        data.batch(np.arange(23))


def test_edge_types_are_checked_for_every_batch(regression):
    (regression / "edge_type.bin").write_bytes(b"\xff" * (regression / "edge_type.bin").stat().st_size)
    for view in (PairView(), GraphView()):
        with pytest.raises(InputError, match="has an edge to a node that does not exist, or of a type"):
            grpe_dgl.data.load(regression, view=view).batch(np.arange(23))

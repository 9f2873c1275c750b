import gzip
import shutil

import numpy as np
import pytest

import grpe_dgl.io.ogb_import  # noqa: F401 (before ogb, which would ask the network)
from grpe_dgl.data.dataset import load
from grpe_dgl.data.molecules.columns import bond_columns
from grpe_dgl.data.sources import ogb, ogb_facts
from grpe_dgl.data.store.preprocess import preprocess
from grpe_dgl.errors import InputError


def test_ogbs_table():
    table = ogb_facts.molecule_datasets()
    assert {"ogbg-molhiv", "ogbg-molpcba", "ogbg-molchembl"} <= table.keys() and "ogbg-ppa" not in table
    assert (table["ogbg-molpcba"]["num tasks"], table["ogbg-molpcba"]["eval metric"]) == ("128", "ap")
    assert ogb_facts.full_name("molhiv") == ogb.full_name("ogbg-molhiv") == "ogbg-molhiv"
    with pytest.raises(InputError, match="OGB has no molecule dataset 'ogbg-molx'; accepted: ogbg-molbace"):
        ogb.ogb("molx", None)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.parametrize("workers", [1, 2])
def test_molesol_equals_ogbs_own_dataset(shared_raw, tmp_path, workers, capsys):
    from ogb.graphproppred import DglGraphPropPredDataset

    shutil.copytree(shared_raw / "ogb" / "ogbg_molesol", tmp_path / "ogb" / "ogbg_molesol")
    theirs = DglGraphPropPredDataset("ogbg-molesol", root=str(tmp_path / "ogb"))
    manifest = preprocess(ogb.ogb("molesol", shared_raw / "ogb"), tmp_path / "out", workers=workers)
    assert (manifest.schema.name, manifest.schema.task.kind, manifest.schema.task.metric) == (
        "ogbg-molesol",
        "regression",
        "rmse",
    )
    assert (
        manifest.schema.task.targets == ("measured log solubility in mols per litre",)
        and manifest.schema.task.standardise
    )
    ours = load(tmp_path / "out")
    for split, index in theirs.get_idx_split().items():
        assert len(ours[split]) == len(index)
        for i, number in enumerate(index.tolist()):
            (graph, label), (expected, expected_label) = ours[split][i], theirs[number]
            assert [end.tolist() for end in graph.edges(order="eid")] == [
                end.tolist() for end in expected.edges(order="eid")
            ]
            np.testing.assert_array_equal(graph.ndata["feat"], expected.ndata["feat"])
            np.testing.assert_array_equal(bond_columns(graph.edata["feat"].numpy().reshape(-1)), expected.edata["feat"])
            np.testing.assert_array_equal(label, expected_label)


def write_raw(folder, files):
    for name, text in files.items():
        path = folder / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))


@pytest.fixture
def tiny(tmp_path):
    """Three molecules in the layout of ogbg-molclintox (two tasks), the second without a bond and half labelled."""
    files = {
        "raw/num-node-list": "2\n1\n2\n",
        "raw/num-edge-list": "1\n0\n1\n",
        "raw/node-feat": "5,0,4,5,3,0,2,0,0\n" * 5,
        "raw/edge": "0,1\n1,0\n",
        "raw/edge-feat": "0,0,0\n1,2,1\n",
        "raw/graph-label": "0,1\n1,\nnan,0.0\n",
        "split/scaffold/train": "2\n0\n",
        "split/scaffold/valid": "1\n",
        "split/scaffold/test": "",
    }
    write_raw(tmp_path / "ogbg_molclintox", files)
    return tmp_path


def test_tiny(tiny):
    source = ogb.ogb("molclintox", tiny)
    (job,) = source.jobs
    run = job()
    assert run.num_edges.tolist() == [2, 0, 2]
    assert (run.src.tolist(), run.dst.tolist(), run.edge_type.tolist()) == ([0, 1, 1, 0], [1, 0, 0, 1], [0, 0, 17, 17])
    np.testing.assert_array_equal(run.label, [[0, 1], [1, np.nan], [np.nan, 0]])
    assert {name: rows.tolist() for name, rows in source.splits(np.arange(3)).items()} == {
        "train": [2, 0],
        "valid": [1],
        "test": [],
    }
    assert (source.schema.task.kind, source.schema.task.targets) == ("binary", ("target 0", "target 1"))


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("raw/edge", "0,1\n", "edge.csv.gz ends 1 lines too early"),
        ("raw/node-feat", "5,0,4,5,3,0,2,0,x\n" * 5, "node-feat.csv.gz has '.*x.*'; accepted: non-negative integers"),
        ("raw/node-feat", "5,0\n" * 5, "10 numbers in 5 lines; accepted: 9 a line"),
        ("raw/graph-label", "0\n1\n0\n", "graph-label.csv.gz, row 0: 1 labels; accepted: 2"),
        ("raw/graph-label", "0,1\n1,a\n0,0\n", "graph-label.csv.gz, row 1: '1,a'; accepted: numbers, or blank"),
    ],
)
def test_damaged_files(tiny, file, text, message):
    write_raw(tiny / "ogbg_molclintox", {file: text})
    with pytest.raises(InputError, match=message):
        for job in ogb.ogb("molclintox", tiny).jobs:
            job()


def test_a_truncated_archive_of_numbers(tiny):
    path = tiny / "ogbg_molclintox" / "raw" / "num-node-list.csv.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="num-node-list.csv.gz is damaged"):
        ogb.ogb("molclintox", tiny)

import gzip
import pickle
import shutil
import zipfile

import numpy as np
import pytest
import torch

import grpe_dgl.io.ogb_import  # noqa: F401 (before ogb, which would ask the network)
from grpe_dgl.data.molecules.columns import bond_columns
from grpe_dgl.data.sources.pcqm import pcqm
from grpe_dgl.errors import InputError


@pytest.mark.parametrize(
    ("name", "folder", "splits"),
    [
        ("pcqm4m", "pcqm4m_kddcup2021", ["train", "valid", "test"]),
        ("pcqm4mv2", "pcqm4m-v2", ["train", "valid", "test-dev", "test-challenge"]),
    ],
)
def test_graphs_labels_and_splits(shared_raw, name, folder, splits):
    from ogb.utils import smiles2graph

    source = pcqm(name, shared_raw / "ogb")
    run, *others = [job() for job in source.jobs]
    assert not others and not run.skipped and source.num_rows == len(run.num_nodes) == 1999
    found = source.splits(np.arange(1999))
    assert list(found) == splits
    assert sorted(np.concatenate(list(found.values()))) == list(range(1999))
    for split, index in found.items():
        assert np.isnan(run.label[index]).all() == split.startswith("test")
        assert np.isnan(run.label[index]).any() == split.startswith("test")
    with gzip.open(shared_raw / "ogb" / folder / "raw" / "data.csv.gz", "rt") as file:
        smiles = [line.split(",")[1] for line in file][1:]
    first = smiles2graph(smiles[0])
    n, m = first["num_nodes"], first["edge_index"].shape[1]
    np.testing.assert_array_equal(run.node_feat[:n], first["node_feat"])
    np.testing.assert_array_equal([run.src[:m], run.dst[:m]], first["edge_index"])
    np.testing.assert_array_equal(bond_columns(run.edge_type[:m]), first["edge_feat"])


@pytest.fixture
def copy(shared_raw, tmp_path):
    shutil.copytree(shared_raw / "ogb" / "pcqm4m-v2", tmp_path / "pcqm4m-v2", copy_function=shutil.copyfile)
    (tmp_path / "pcqm4m-v2").chmod(0o755)
    return tmp_path


def test_old_names_of_numpy_are_accepted(copy):
    """Files written with numpy 1 name numpy.core where numpy 2 names numpy._core."""
    file = copy / "pcqm4m-v2" / "split_dict.pt"
    other = copy / "other.pt"
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(other, "w") as new:
        for member in old.namelist():
            data = old.read(member)
            if member.endswith("data.pkl"):
                assert b"numpy._core" in data or b"numpy.core" in data
                swapped = data.replace(b"numpy.core", b"numpy.CORE").replace(b"numpy._core", b"numpy.core")
                data = swapped.replace(b"numpy.CORE", b"numpy._core")
            new.writestr(member, data)
    shutil.copyfile(other, file)
    assert len(pcqm("pcqm4mv2", copy).splits(np.arange(1999))["train"]) > 0


class _Harmful:
    def __reduce__(self):
        return (print, ("run",))


@pytest.mark.parametrize("content", ["code", "text", "keys"])
def test_other_split_files_are_refused(copy, content, capsys):
    file = copy / "pcqm4m-v2" / "split_dict.pt"
    if content == "code":
        torch.save({"train": _Harmful()}, file)
    elif content == "text":
        file.write_bytes(pickle.dumps("not torch's", protocol=2))
    else:
        torch.save({"train": torch.arange(3)}, file)
    with pytest.raises(InputError, match="split_dict.pt (cannot be read|has no split 'valid')"):
        pcqm("pcqm4mv2", copy)
    assert capsys.readouterr().out == ""


def test_a_gap_that_is_no_number(copy):
    text = "idx,smiles,homolumogap\n0,C,1.5\n1,CC,wide\n"
    (copy / "pcqm4m-v2" / "raw").chmod(0o755)
    (copy / "pcqm4m-v2" / "raw" / "data.csv.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.raises(InputError, match="row 1, column homolumogap: 'wide'; accepted: a number"):
        list(pcqm("pcqm4mv2", copy).jobs)

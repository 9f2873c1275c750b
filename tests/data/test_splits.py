import csv
import gzip

import numpy as np
import pytest

from grpe_dgl.data import splits
from grpe_dgl.data.molecules.smiles import graphs_of_smiles
from grpe_dgl.errors import InputError
from tests.data.real_molecules import csv_smiles


def molesol(shared_raw):
    with gzip.open(shared_raw / "ogb" / "ogbg_molesol" / "mapping" / "mol.csv.gz", "rt", newline="") as file:
        return [row["smiles"] for row in csv.DictReader(file)]


def test_scaffold_reproduces_ogbs_published_split(shared_raw):
    key = graphs_of_smiles(molesol(shared_raw), scaffold_key=True).key
    found = splits.scaffold_split(key[:, 1], (0.8, 0.1, 0.1))
    for name in splits.NAMES:
        with gzip.open(shared_raw / "ogb" / "ogbg_molesol" / "split" / "scaffold" / f"{name}.csv.gz", "rt") as file:
            assert found[name].tolist() == [int(line) for line in file]


def test_scaffold_groups_are_those_of_dgllife(shared_raw):
    from dgllife.utils import ScaffoldSplitter
    from rdkit import Chem

    smiles = csv_smiles(shared_raw, "lipo")[:400]
    key = graphs_of_smiles(smiles, scaffold_key=True).key
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    theirs = ScaffoldSplitter.get_ordered_scaffold_sets(molecules, None, "smiles")
    # dgllife leaves chirality out of its scaffolds, so its groups are unions of ours.
    for group in theirs:
        ours = np.flatnonzero(np.isin(key[:, 1], key[list(group), 1]))
        assert set(ours) == set(group)


def test_scaffold_literal():
    # Groups: 7 x4 (first 0), 8 x2 (first 4), 9 x2 (first 6), 5 x1, 6 x1. Of equals the later comes first.
    scaffolds = np.array([7, 7, 7, 7, 8, 8, 9, 9, 5, 6], np.uint64)
    found = splits.scaffold_split(scaffolds, (0.6, 0.2, 0.2))
    assert {name: rows.tolist() for name, rows in found.items()} == {
        "train": [0, 1, 2, 3, 6, 7],
        "valid": [4, 5],
        "test": [8, 9],
    }


def test_random_is_a_partition_that_follows_the_seed():
    first, again, other = (splits.random_split(101, (0.7, 0.2, 0.1), seed) for seed in (3, 3, 4))
    assert [len(first[name]) for name in splits.NAMES] == [70, 20, 11]
    assert sorted(np.concatenate(list(first.values()))) == list(range(101))
    assert all((first[name] == again[name]).all() for name in splits.NAMES)
    assert (first["train"] != other["train"]).any()


def test_fractions_that_binary_numbers_miss():
    assert [len(rows) for rows in splits.random_split(10, (0.8, 0.1, 0.1), 0).values()] == [8, 1, 1]
    assert [len(rows) for rows in splits.random_split(10, (0.7, 0.2, 0.1), 0).values()] == [7, 2, 1]


@pytest.mark.parametrize("fractions", [(0.8, 0.1), (0.8, 0.3, 0.1), (1.2, -0.1, -0.1), (0.0, 0.5, 0.5)])
def test_fractions_refused(fractions):
    with pytest.raises(InputError, match="accepted: three numbers that add up to 1"):
        splits.random_split(10, fractions, 0)


def test_rows_become_graphs():
    rows = np.array([0, 2, 3])  # row 1 was skipped
    found = splits.index_split({"train": np.array([3, 1]), "valid": np.array([0])}, rows, 5)
    assert {name: graphs.tolist() for name, graphs in found.items()} == {"train": [2], "valid": [0]}


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ({"train": [0, 5]}, "names row 5; accepted: 0..4"),
        ({"train": [0], "valid": [0]}, "split valid names row 0, which another split has"),
        ({"train": [1, 1]}, "split train names a row twice"),
    ],
)
def test_rows_refused(index, message):
    with pytest.raises(InputError, match=message):
        splits.index_split({name: np.array(rows) for name, rows in index.items()}, np.arange(5), 5)


def test_index_file(tmp_path):
    (tmp_path / "rows.txt").write_text("3\n\n 1\r\n")
    assert splits.read_index_file(tmp_path / "rows.txt").tolist() == [3, 1]
    (tmp_path / "rows.txt").write_text("3\n-1\n")
    with pytest.raises(InputError, match=r"rows.txt, line 2: '-1'; accepted: a row number"):
        splits.read_index_file(tmp_path / "rows.txt")
    with pytest.raises(InputError, match="absent.txt cannot be read"):
        splits.read_index_file(tmp_path / "absent.txt")


def test_split_names():
    assert [splits.split_name(text) for text in ("Train", " val ", "test", "x")] == ["train", "valid", "test", None]


def test_shared_molecules_are_told_once():
    molecules = np.array([1, 1, 2, 3, 3, 3, 4], np.uint64)
    index = {"train": np.array([0, 2, 3]), "valid": np.array([1, 4]), "test": np.array([5, 6])}
    assert splits.shared(molecules, index).tolist() == [1, 3]


def test_every_class_has_its_share():
    classes = np.array([0] * 30 + [1] * 10 + [2] * 3 + [3] * 2)
    found = splits.stratified_split(classes, (0.8, 0.1, 0.1), 0)
    assert np.array_equal(np.sort(np.concatenate(list(found.values()))), np.arange(45))
    counts = {name: np.bincount(classes[index], minlength=4).tolist() for name, index in found.items()}
    assert counts == {"train": [24, 8, 1, 1], "valid": [3, 1, 1, 0], "test": [3, 1, 1, 1]}
    again = splits.stratified_split(classes, (0.8, 0.1, 0.1), 0)
    assert all(np.array_equal(found[name], again[name]) for name in found)
    only = splits.stratified_split(classes, (1.0, 0.0, 0.0), 0)
    assert len(only["train"]) == 45 and not len(only["valid"]) and not len(only["test"])


def test_a_class_that_a_split_lacks():
    division = {"train": np.arange(4), "valid": np.array([4]), "test": np.array([], np.int64)}
    assert splits.lacks_a_class(np.array([0, 1, 1, 0, 1]), division) is False  # 0 is rarer than there are splits
    assert splits.lacks_a_class(np.array([0, 1, 1, 1, 1]), division) is False
    assert splits.lacks_a_class(np.array([0, 0, 0, 1, 1]), division) is True
    assert splits.lacks_a_class(np.array([0, 0, 0, -1, 0]), division) is False

"""A model knows which elements and sizes it has seen."""

import numpy as np
import pytest

from grpe_dgl.data.molecules.coverage import Coverage, symbol
from grpe_dgl.data.sources.csv import CSVRequest, csv_source
from grpe_dgl.data.store.preprocess import preprocess
from grpe_dgl.data.store.store import Store


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("coverage")
    (folder / "own.csv").write_text("smiles,y\nCCO,1\nCBr,2\n[Na+].[Cl-],3\n*C,4\nCCCCCC,5\n")
    source, _ = csv_source(CSVRequest(file=folder / "own.csv", targets=("y",), fractions=(1, 0, 0)))
    preprocess(source, folder / "own")
    return Store(folder / "own")


def test_elements_count_molecules(store):
    coverage = Coverage.of(store)
    assert coverage == Coverage(5, {6: 4, 8: 1, 11: 1, 17: 1, 35: 1, 119: 1}, 6)
    assert [symbol(element) for element in coverage.elements] == ["C", "O", "Na", "Cl", "Br", "*"]
    assert Coverage.of(store, np.array([0, 1])) == Coverage(2, {6: 2, 8: 1, 35: 1}, 3)


def test_what_one_has_and_the_other_has_not(store):
    some = Coverage.of(store, np.array([0, 1]))
    assert some.unseen(some) == []
    assert some.unseen(Coverage.of(store)) == [
        "elements: Na (1 molecule), Cl (1 molecule), * (1 molecule)",
        "sizes: up to 6 atoms, where it has seen up to 3",
    ]


def test_it_goes_through_a_checkpoint(store):
    coverage = Coverage.of(store)
    assert Coverage.from_dict(coverage.to_dict()) == coverage
    for damaged in (None, {}, {**coverage.to_dict(), "molecules": "many"}, {**coverage.to_dict(), "elements": {0: 1}}):
        with pytest.raises(ValueError, match="coverage"):
            Coverage.from_dict(damaged)

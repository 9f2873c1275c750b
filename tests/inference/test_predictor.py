import dgl
import numpy as np
import pytest
import torch

import grpe_dgl
from grpe_dgl.data.molecules.columns import bond_types
from grpe_dgl.errors import InputError
from grpe_dgl.inference.predictor import batches_by_size
from grpe_dgl.io.ogb_import import import_ogb
from grpe_dgl.nn import GRPE
from grpe_dgl.transforms import AddVirtualNode, ToPairGraph
from tests import trained

SMILES = ["CCO", "c1ccccc1O", "[Na+].[Cl-]", "C", "C/C=C\\C(=O)N[C@@H](C)C(=O)O"]


def pairs_of(smiles):
    """The pair graphs of molecules by way of OGB's own function and the transforms."""
    graphs = []
    for text in smiles:
        raw = import_ogb("ogb.utils").smiles2graph(text)
        graph = dgl.graph(tuple(torch.from_numpy(ends) for ends in raw["edge_index"]), num_nodes=raw["num_nodes"])
        graph.ndata["feat"] = torch.from_numpy(raw["node_feat"])
        graph.edata["feat"] = torch.from_numpy(bond_types(raw["edge_feat"]))
        graphs.append(graph)
    to_pairs = dgl.transforms.Compose([AddVirtualNode(), ToPairGraph(max_distance=5, num_edge_types=60)])
    return to_pairs(dgl.batch(graphs))


@pytest.mark.parametrize(
    ("task", "finish"),
    [
        (trained.REGRESSION, lambda x: -3.0 + 2.0 * x),
        (trained.BINARY, torch.sigmoid),
        (trained.CLASSES, lambda x: x.softmax(-1)),
    ],
    ids=["regression in its own unit", "binary", "multiclass"],
)
def test_predictions_are_the_model_s(tmp_path, task, finish):
    predictor = grpe_dgl.load(trained.save(tmp_path / "x.ckpt", task))
    assert isinstance(predictor.model, GRPE) and not predictor.model.training
    expected = finish(predictor.model(pairs_of(SMILES))).detach().numpy()
    np.testing.assert_allclose(predictor.predict(SMILES), expected, rtol=1e-5, atol=1e-6)


def test_an_unreadable_molecule_is_a_row_of_nan(tmp_path):
    predictor = grpe_dgl.load(trained.save(tmp_path / "x.ckpt", trained.BINARY))
    with pytest.warns(UserWarning, match="molecule 1: 'nonsense' cannot be read"):
        found = predictor.predict(["CCO", "nonsense", "CO"])
    assert np.isnan(found[1]).all()
    np.testing.assert_allclose(found[[0, 2]], predictor.predict(["CCO", "CO"]), rtol=1e-5)
    with pytest.warns(UserWarning, match="max_nodes is 2"):
        assert np.isnan(predictor.predict(["CCO"], max_nodes=2)).all()
    assert predictor.predict([]).shape == (0, 2)
    with pytest.raises(InputError, match="accepted: a list of SMILES"):
        predictor.predict("CCO")
    with pytest.raises(InputError, match="molecule 1 is 7, not a text"):
        predictor.predict(["CCO", 7])
    assert repr(predictor).endswith("x.ckpt: binary of toxic, soluble; 3 layers of 16)")


def test_fingerprints_are_virtual_nodes_of_length_one(tmp_path):
    predictor = grpe_dgl.load(trained.save(tmp_path / "x.ckpt"))
    pairs = pairs_of(SMILES)
    hidden = [x[pairs.ndata["virtual"].bool()] for x in predictor.model.encode(pairs)]
    expected = torch.cat([x / x.norm(dim=-1, keepdim=True) for x in hidden[-2:]], -1).detach().numpy()
    np.testing.assert_allclose(predictor.fingerprint(SMILES, layers=2), expected, rtol=1e-4, atol=1e-6)
    with pytest.raises(InputError, match=r"layers is 4; accepted: 1\.\.3"):
        predictor.fingerprint(SMILES, layers=4)


def test_batches_hold_every_graph_once_within_the_budget():
    sizes = np.array([3, 50, 2, 3, 7, 2])
    batches = list(batches_by_size(sizes, budget=30))
    assert sorted(np.concatenate(batches).tolist()) == list(range(6))
    assert all(len(batch) * sizes[batch].max() ** 2 <= 30 for batch in batches if len(batch) > 1)
    assert len(batches) == 4 and list(batches_by_size(sizes[:0])) == []


def test_equal_smiles_are_computed_once_and_every_row_gets_its_numbers(tmp_path, monkeypatch):
    predictor = grpe_dgl.load(trained.save(tmp_path / "x.ckpt"))
    smiles = ["CCO", "C(", "CCO", "c1ccccc1", "C(", "CCN", "CCO", "CCN"]
    alone = {text: predictor.predict([text])[0, 0] for text in ("CCO", "c1ccccc1", "CCN")}
    graphs = []
    outputs = predictor.outputs
    monkeypatch.setattr(predictor, "outputs", lambda batch: (graphs.append(len(outputs(batch))), outputs(batch))[1])
    with pytest.warns(UserWarning, match=r"molecule [14]:"):
        found = predictor.predict(smiles)[:, 0]
    assert sum(graphs) == 3
    np.testing.assert_allclose(found, [alone.get(text, np.nan) for text in smiles], rtol=0, atol=1e-6)

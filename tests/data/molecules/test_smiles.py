import subprocess
import sys

import numpy as np
import pytest

import grpe_dgl.io.ogb_import  # noqa: F401 (before ogb, which would ask the network)
from grpe_dgl.data.molecules.columns import ATOM_COLUMNS, BOND_COLUMNS, bond_columns, bond_types
from grpe_dgl.data.molecules.smiles import canonical, canonical_key, graphs_of_smiles
from tests.data.real_molecules import csv_smiles, molhiv_smiles

# Elements, charges, radicals, chirality, stereo, dative and quadruple bonds, fragments, dummies, hydrogens.
UNUSUAL = [
    "C",
    "[H][H]",
    "[Na+].[Cl-]",
    "*C",
    "C[C@H](N)C(=O)O",
    "C[C@@H](N)C(=O)O",
    "F/C=C/F",
    "F/C=C\\F",
    "FC=CF",
    "C[CH]C",
    "[O][O]",
    "N->[Pt](Cl)Cl",
    "Cl[Pt](Cl)([NH3])[NH3]",
    "[NH3][Cu]",
    "[Fe]$[Fe]",
    "C~C",
    "S(F)(F)(F)(F)(F)F",
    "P(F)(F)(F)(F)F",
    "C[Pt@SP1](F)(Cl)N",
    "c1ccc2c(c1)[nH]c1ccccc12",
    "[2H]C([3H])O",
    "[C-]#[O+]",
    "[U+6]",
    "[Og]",
    "C1=CC=CC=CC=C1",
    "CC=C=CC",
    "O=[N+]([O-])c1ccccc1",
    "CCO |$;;R1$|",
    "molecule",
]


def assert_equal_to_ogb(smiles):
    from ogb.utils import smiles2graph

    graphs = graphs_of_smiles(smiles, max_nodes=10_000)
    skipped = {skip.row for skip in graphs.skipped}
    kept = [text for row, text in enumerate(smiles) if row not in skipped]
    assert len(kept) == len(graphs.num_nodes) > 0.99 * len(smiles) - 2
    expected = [smiles2graph(text) for text in kept]
    np.testing.assert_array_equal(graphs.num_nodes, [graph["num_nodes"] for graph in expected])
    np.testing.assert_array_equal(graphs.node_feat, np.concatenate([graph["node_feat"] for graph in expected]))
    np.testing.assert_array_equal(graphs.num_edges, [graph["edge_index"].shape[1] for graph in expected])
    edges = np.concatenate([graph["edge_index"] for graph in expected], axis=1)
    np.testing.assert_array_equal([graphs.src, graphs.dst], edges)
    columns = np.concatenate([graph["edge_feat"] for graph in expected])
    np.testing.assert_array_equal(bond_columns(graphs.edge_type), columns)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_unusual_molecules_equal_ogb():
    assert_equal_to_ogb(UNUSUAL)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "step"), [("molhiv", 12), ("tox21", 4), ("lipo", 4)])
def test_real_molecules_equal_ogb(shared_raw, name, step):
    assert_equal_to_ogb(molhiv_smiles(shared_raw, step) if name == "molhiv" else csv_smiles(shared_raw, name)[::step])


def test_a_literal_molecule():
    graphs = graphs_of_smiles(["C=O"], np.array([[3.5]], np.float32))
    # OGB's columns: atomic number - 1, chirality, degree, charge + 5, hydrogens, radicals, hybridisation (SP2 = 1), ...
    assert graphs.node_feat.tolist() == [[5, 0, 3, 5, 2, 0, 1, 0, 0], [7, 0, 1, 5, 0, 0, 1, 0, 0]]
    assert (graphs.src.tolist(), graphs.dst.tolist()) == ([0, 1], [1, 0])
    assert graphs.edge_type.tolist() == [12, 12]  # double, no stereo, not conjugated: (1 * 6 + 0) * 2 + 0
    assert graphs.label.tolist() == [[3.5]]
    assert graphs.key is None


def test_bond_types_are_a_bijection():
    from ogb.utils.features import get_atom_feature_dims, get_bond_feature_dims

    assert ATOM_COLUMNS == tuple(get_atom_feature_dims()) == (119, 5, 12, 12, 10, 6, 6, 2, 2)
    assert BOND_COLUMNS == tuple(get_bond_feature_dims()) == (5, 6, 2)
    columns = np.stack(np.meshgrid(*map(np.arange, BOND_COLUMNS), indexing="ij"), axis=-1).reshape(-1, 3)
    types = bond_types(columns)
    assert sorted(types) == list(range(60))
    np.testing.assert_array_equal(bond_columns(types), columns)


def test_what_has_no_graph_is_skipped_with_row_and_reason(capfd):
    smiles = ["CC", "c1ccc", "", "CN(C)(C)(C)C", "Xx", "CCCC", "c1cccc1", "O"]
    graphs = graphs_of_smiles(smiles, np.arange(8), first_row=100, max_nodes=3)
    assert graphs.label.tolist() == [0, 7]
    assert graphs.num_nodes.tolist() == [2, 1]
    reasons = {skip.row: skip.reason for skip in graphs.skipped}
    assert list(reasons) == [101, 102, 103, 104, 105, 106]
    assert reasons[101] == "'c1ccc' cannot be read: it is not a SMILES"
    assert reasons[102] == "'' has no atoms"
    assert "Explicit valence for atom # 1 N" in reasons[103]
    assert "not a SMILES" in reasons[104]
    assert reasons[105] == "the molecule has 4 atoms; max_nodes is 3"
    assert "kekulize" in reasons[106].lower()
    assert capfd.readouterr() == ("", "")


def test_nothing_but_skipped_rows():
    graphs = graphs_of_smiles(["", "X"])
    assert (graphs.num_nodes.shape, graphs.node_feat.shape, graphs.src.shape) == ((0,), (0, 9), (0,))


def test_keys_tell_molecules_and_scaffolds_apart():
    key = graphs_of_smiles(["OCC", "CCO", "CCc1ccccc1", "c1ccccc1"], structure_key=True, scaffold_key=True).key
    assert key is not None and key.dtype == np.uint64
    assert key[0, 0] == key[1, 0] and len(set(key[:, 0])) == 3
    assert key[0, 1] == key[1, 1] != key[2, 1] == key[3, 1]


def test_structure_keys_do_not_depend_on_how_a_molecule_is_written(shared_raw):
    from rdkit import Chem

    smiles = csv_smiles(shared_raw, "esol")[::3] + csv_smiles(shared_raw, "lipo")[::15]
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    other = [Chem.MolToSmiles(molecule, doRandom=True) for molecule in molecules]
    kekule = [Chem.MolToSmiles(molecule, kekuleSmiles=True) for molecule in molecules]
    keys = [graphs_of_smiles(texts, structure_key=True).key[:, 0] for texts in (smiles, other, kekule)]
    np.testing.assert_array_equal(keys[0], keys[1])
    np.testing.assert_array_equal(keys[0], keys[2])
    assert len(set(keys[0])) > 0.95 * len({Chem.MolToSmiles(molecule) for molecule in molecules})


def test_canonical():
    assert canonical("OCC") == "CCO"
    assert canonical_key("OCC") == canonical_key("CCO") != canonical_key("C") != canonical_key("C(") == 0
    assert canonical("C(") is None


def test_importing_ogb_starts_no_thread_and_leaves_outdated_importable():
    program = (
        "import threading, grpe_dgl.data.molecules.smiles, sys;"
        "assert threading.active_count() == 1, threading.enumerate();"
        "assert 'outdated' not in sys.modules; import outdated"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=120)


def test_dgllife_builds_the_same_graphs(shared_raw):
    from dgllife.utils import smiles_to_bigraph

    smiles = csv_smiles(shared_raw, "esol")[:200]
    graphs = graphs_of_smiles(smiles)
    ends = np.cumsum(graphs.num_edges)
    for i, text in enumerate(smiles):
        theirs = smiles_to_bigraph(text, canonical_atom_order=False)
        src, dst = theirs.edges(order="eid")
        first, last = ends[i] - graphs.num_edges[i], ends[i]
        assert theirs.num_nodes() == graphs.num_nodes[i]
        assert (src.tolist(), dst.tolist()) == (graphs.src[first:last].tolist(), graphs.dst[first:last].tolist())


@pytest.mark.parametrize("hydrogens", [128, 200, 255, 1000])
def test_what_rdkit_raises_for_one_row_is_that_rows_error(hydrogens):
    graphs = graphs_of_smiles(["CCO", f"[CH{hydrogens}]", "CC"], structure_key=True, scaffold_key=True)
    assert graphs.num_nodes.tolist() == [3, 2]
    assert [skip.row for skip in graphs.skipped] == [1]
    assert graphs.skipped[0].reason.startswith(f"'[CH{hydrogens}]' cannot be read: RDKit fails with ")
    assert "\n" not in graphs.skipped[0].reason
    assert canonical(f"[CH{hydrogens}]") is None

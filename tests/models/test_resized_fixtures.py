"""The parity tests assume nothing about a fixture's sizes: they pass on fixtures of the same form with other ones."""

import importlib

import numpy as np
import pytest
import torch

from grpe_dgl.models.pna.settings import PNASettings
from tests.models.published import FOLDER, load_fixture
from tests.models.resized import resized

NODES, EDGES = (5, 3, 7, 2), (4, 2, 3)  # rows of the tables of each column
ATOMS = r"embedding_h\.atom_embedding_list"
BENCHMARK = {"L": 3, "hidden_dim": 14, "out_dim": 14}
ZINC, SBM = {"num_atom_type": 9, "num_bond_type": 5}, {"in_dim": 4, "n_classes": 3}
GAT = {"L": 3, "hidden_dim": 4, "n_heads": 3, "out_dim": 12}
GT = {"L": 1, "hidden_dim": 15, "out_dim": 15, "n_heads": 3, "pos_enc_dim": 3}
SAN = {
    "GT_layers": 3, "GT_hidden_dim": 12, "GT_out_dim": 12, "GT_n_heads": 3, "LPE_layers": 2, "LPE_dim": 6,
    "LPE_n_heads": 3, "LPE_ffn_dim": 7, "m": 4, "gamma": 0.3,
}  # fmt: skip
EGT = {
    "model_height": 3, "model_width": 24, "edge_width": 8, "num_heads": 3, "upto_hop": 5, "num_svd_features": 4,
    "sel_svd_features": 2, "ffn_multiplier": 3.0, "mlp_layers": [0.75],
}  # fmt: skip
OGB = {"num_layer": 3, "emb_dim": 7, "num_tasks": 3, "graph_pooling": "sum"}
OGB_TABLES = {
    r"gnn_node\.atom_encoder\.atom_embedding_list": NODES,
    r"gnn_node\.convs\.\d+\.bond_encoder\.bond_embedding_list": EDGES,
}
GINE = {"layers": 4, "hidden": 7, "k": 2}
GINE_TABLES = {
    r"main\.0\.atom_embedding\.atom_embedding_list": NODES, r"main\.\d+\.edge_embed\.bond_embedding_list": EDGES,
}  # fmt: skip
DEEPER_TABLES = {
    r"atom_encoder\.atom_embedding_list": NODES, r"gcns\.\d+\.edge_encoder\.bond_embedding_list": EDGES,
}  # fmt: skip
PHC = {"phm_dim": 3, "atom_encoded_dim": 9, "mp_layers": [9, 9, 9], "downstream_layers": [6, 3], "target_dim": 2}
PHC |= {
    "dropout_mpnn": [0.1] * 3,
    "dropout_dn": [0.2, 0.0],
    "atom_input_dims": list(NODES),
    "bond_input_dims": list(EDGES),
}
PHC_TABLES = {
    r"atomencoder\.encoders\.\d+\.embeddings": NODES, r"bondencoders\.\d+\.encoders\.\d+\.embeddings": EDGES,
}  # fmt: skip

CASES = {  # fixture: its family, the test of it, changed sizes, tables of the state
    "zinc_gcn": ("gcn", "test_equals_the_published_code", {**BENCHMARK, **ZINC, "readout": "sum"}, {}),
    "cluster_gcn": ("gcn", "test_equals_the_published_code", {**BENCHMARK, **SBM}, {}),
    "zinc_gat": ("gat", "test_equals_the_published_code", {**GAT, **ZINC}, {}),
    "cluster_gat": ("gat", "test_equals_the_published_code", {**GAT, **SBM, "L": 1}, {}),
    "zinc_gin": ("gin", "test_equals_the_published_code", {**BENCHMARK, **ZINC, "readout": "mean"}, {}),
    "cluster_gin": ("gin", "test_equals_the_published_code", {**BENCHMARK, **SBM}, {}),
    "zinc_gatedgcn": ("gatedgcn", "test_equals_the_published_code", {**BENCHMARK, **ZINC}, {}),
    "zinc_gatedgcn_e_pe": (
        "gatedgcn", "test_equals_the_published_code", {**BENCHMARK, **ZINC, "pos_enc_dim": 3}, {},
    ),
    "cluster_gatedgcn": ("gatedgcn", "test_equals_the_published_code", {**BENCHMARK, **SBM, "L": 1}, {}),
    "cluster_gatedgcn_pe": (
        "gatedgcn", "test_equals_the_published_code", {**BENCHMARK, **SBM, "pos_enc_dim": 2}, {},
    ),
    "zinc_gt": (
        "gt", "test_released_code", {**GT, **ZINC, "L": 3}, {"embedding_h.weight": 9, "embedding_e.weight": 5},
    ),
    "cluster_gt": ("gt", "test_released_code", {**GT, **SBM}, {"embedding_h.weight": 4}),
    "zinc_san": (
        "san", "test_released_code", {**SAN, **ZINC}, {"embedding_h.weight": 9, "embedding_e.weight": 5},
    ),
    "cluster_san": ("san", "test_released_code", {**SAN, **SBM, "m": 9}, {"embedding_h.weight": 4}),
    "zinc_egt": (
        "egt", "test_first_code", EGT, {"node_emb/embeddings:0": 10, "fm_emb/embeddings:0": 6},
    ),
    "cluster_egt": ("egt", "test_first_code", {**EGT, "model_height": 1}, {"node_emb/embeddings:0": 5}),
    "mol_egt": (
        "egt", "test_second_code",
        {
            "model_height": 3, "node_width": 16, "edge_width": 8, "num_heads": 4, "node_ffn_multiplier": 2.0,
            "edge_ffn_multiplier": 3.0, "upto_hop": 5, "num_virtual_nodes": 3, "svd_encodings": 2, "output_dim": 3,
        },
        {"nodef_embed.weight": 1 + 4 * 7, "featm_embed.weight": 1 + 3 * 4},
    ),
    "zinc_graphormer": (
        "graphormer", "test_zinc", {"n_layers": 3, "num_heads": 3, "hidden_dim": 15, "ffn_dim": 7}, {},
    ),
    "zinc_pna": (
        "pna", "test_towers_equal_the_published_code",
        {
            **BENCHMARK, **ZINC, "hidden_dim": 15, "out_dim": 15, "towers": 3, "edge_dim": 2, "aggregators": "sum max",
            "scalers": "identity attenuation", "avg_d": {"log": 0.9, "lin": 2.0, "exp": 5.0}, "graph_norm": False,
        },
        {},
    ),
    "zinc_mpnn_sum": (
        "pna", "test_towers_equal_the_published_code",
        {**BENCHMARK, **ZINC, "hidden_dim": 15, "out_dim": 15, "towers": 5, "edge_dim": 3, "readout": "mean"}, {},
    ),
    "molhiv_pna": (
        "pna", "test_simple_layers_equal_the_published_code",
        {**BENCHMARK, "aggregators": "max std", "scalers": "identity", "readout": "sum"}, {ATOMS: NODES},
    ),
    "zinc_dgn": (
        "dgn", "test_the_authors_numbers",
        {**BENCHMARK, **ZINC, "edge_dim": 5, "aggregators": "dir1-av sum dir1-dx", "scalers": "identity attenuation"},
        {"embedding_h.weight": 9},
    ),
    "molhiv_dgn": (
        "dgn", "test_the_authors_numbers", {**BENCHMARK, "aggregators": "dir1-dx mean", "graph_norm": True},
        {ATOMS: NODES},
    ),
    "molpcba_dgn": (
        "dgn", "test_the_authors_numbers", {**BENCHMARK, "edge_dim": 5, "aggregators": "max min", "readout": "mean"},
        {ATOMS: NODES, r"embedding_e\.bond_embedding_list": EDGES},
    ),
    "molpcba_gineplus": ("gine", "test_the_authors_numbers", {**GINE, "virtual_node": False}, GINE_TABLES),
    "molpcba_gine_vn": ("gine", "test_the_authors_numbers", GINE, GINE_TABLES),
    "molhiv_deepergcn": (
        "deepergcn", "test_the_authors_numbers",
        {"num_layers": 2, "hidden_channels": 7, "t": 0.7, "num_tasks": 2}, DEEPER_TABLES,
    ),
    "molpcba_deepergcn_vn": (
        "deepergcn", "test_the_authors_numbers",
        {"num_layers": 4, "hidden_channels": 5, "mlp_layers": 3, "num_tasks": 3}, DEEPER_TABLES,
    ),
    "molhiv_gcn_graphnorm": (
        "graphnorm", "test_the_authors_numbers", {"num_layers": 5, "hidden_dim": 6, "output_dim": 3},
        {r"atom_encoder\.atom_embedding_list": NODES, r"bond_layers\.\d+\.bond_embedding_list": EDGES},
    ),
    "molhiv_phc": ("phc", "test_the_authors_numbers", PHC, PHC_TABLES),
    "molpcba_phc": (
        "phc", "test_the_authors_numbers",
        {**PHC, "phm_dim": 2, "atom_encoded_dim": 8, "mp_layers": [8, 8], "downstream_layers": [6, 4],
         "dropout_mpnn": [0.1, 0.1], "dropout_dn": [0.1, 0.0]},
        PHC_TABLES,
    ),
    "ogb_gin": ("ogb", "test_equals_the_published_code", OGB, OGB_TABLES),
    "ogb_gcn": ("ogb", "test_equals_the_published_code", OGB, OGB_TABLES),
    "ogb_gin_vn": ("ogb", "test_equals_the_published_code", {**OGB, "num_layer": 2}, OGB_TABLES),
    "ogb_gcn_vn": ("ogb", "test_equals_the_published_code", OGB, OGB_TABLES),
}  # fmt: skip


def graphs_of(name, tables):
    """Return a function that makes graphs of 6, 3, 8 and 2 nodes in the form of a fixture's."""

    def make(original, kwargs):
        rng = np.random.default_rng(0)
        return [one(rng, n, original["graphs"][0], kwargs) for n in (6, 3, 8, 2)]

    def one(rng, n, like, kwargs):
        def numbers(*shape):
            return torch.from_numpy(rng.normal(size=shape))

        parent = np.array([rng.integers(0, i) for i in range(1, n)], np.int64)
        ends = np.stack([parent, np.arange(1, n)], 1)
        ends = np.concatenate([ends, [[0, n - 1]]]) if n > 5 and parent[-1] != 0 else ends
        src, dst = np.append(ends[:, 0], ends[:, 1]), np.append(ends[:, 1], ends[:, 0])
        nodes = NODES if like["node_feat"].dim() == 2 else (kwargs.get("num_atom_type", kwargs.get("in_dim", 4)),)
        found = {"num_nodes": n, "src": torch.from_numpy(src), "dst": torch.from_numpy(dst)}
        columns = [rng.integers(0, size, n) for size in nodes]
        found["node_feat"] = torch.from_numpy(np.stack(columns, 1) if len(nodes) > 1 else columns[0])
        if like["edge_feat"].is_floating_point():
            found["edge_feat"] = torch.ones(len(src), 1).double()
        elif like["edge_feat"].dim() == 2 and like["edge_feat"].shape[1] > 1:
            half = np.stack([rng.integers(0, size, len(ends)) for size in EDGES], 1)
            found["edge_feat"] = torch.from_numpy(np.concatenate([half, half]))
        else:
            half = rng.integers(0, 4 if "num_bond_type" in kwargs else 1, len(ends))
            found["edge_feat"] = torch.from_numpy(np.append(half, half)).reshape(-1, *like["edge_feat"].shape[1:])
        if "pos_enc" in like:
            egt = {"mol_egt": (2 * kwargs.get("svd_encodings", 0),)}
            wide = (kwargs.get("num_svd_features"), 2) if like["pos_enc"].dim() == 3 else (kwargs.get("pos_enc_dim"),)
            found["pos_enc"] = numbers(n, *egt.get(name, wide))
        if "eig" in like:
            found["eig"] = numbers(n, 3)
        if "snorm_n" in like:
            found["snorm_n"] = torch.full((n, 1), n**-0.5).double()
        if "eigvecs" in like:
            m = kwargs["m"]
            vectors, values = numbers(n, m), numbers(m).abs().expand(n, m).clone()
            vectors[:, n:], values[:, n:] = torch.nan, torch.nan
            found |= {"eigvecs": vectors, "eigvals": values.unsqueeze(-1)}
            found |= complete(found)
        return found

    return make


def complete(graph):
    """Return all pairs of two nodes as edges, marked where they are bonds, whose types count from 1."""
    n = graph["num_nodes"]
    kinds = {
        (int(u), int(v)): int(e)
        for u, v, e in zip(graph["src"], graph["dst"], graph["edge_feat"].flatten(), strict=True)
    }
    pairs = [(u, v) for u in range(n) for v in range(n) if u != v]
    code = [kinds[pair] % 4 + 1 if pair in kinds else 0 for pair in pairs]
    src, dst = torch.tensor(pairs).T
    real = torch.tensor([pair in kinds for pair in pairs]).long()
    return {"src": src, "dst": dst, "edge_feat": torch.tensor(code), "real": real}


@pytest.mark.parametrize("name", CASES)
def test_parity_tests_take_fixtures_of_other_sizes(name, tmp_path, monkeypatch):
    family, function, sizes, tables = CASES[name]
    module = f"tests.models.{family}.test_parity"
    marks = getattr(getattr(importlib.import_module(module), function), "pytestmark", [])
    cases = next((mark.args[1] for mark in marks if mark.name == "parametrize"), [()])
    arguments = next((case if isinstance(case, tuple) else (case,)) for case in cases if name in case or not case)
    resized(name, module, function, arguments, sizes, tables, graphs_of(name, tables), monkeypatch, tmp_path)
    monkeypatch.setenv("GRPE_PARITY", str(tmp_path))
    fixture = torch.load(tmp_path / f"{name}.pt", weights_only=True)
    assert fixture["output"].abs().sum() > 0 and len(fixture["graphs"]) == 4
    getattr(importlib.import_module(module), function)(*arguments)


def test_every_fixture_is_resized():
    if FOLDER.is_dir():
        assert set(CASES) == {path.stem for path in FOLDER.glob("*.pt")}


@pytest.mark.parametrize(("name", "option", "value"), [("zinc_gcn", "residual", False), ("zinc_pna", "gru", True)])
def test_options_that_ours_does_not_compute_are_refused_by_name(name, option, value, tmp_path, monkeypatch):
    family, function, _, _ = CASES[name]
    fixture = load_fixture(name)
    torch.save({**fixture, "kwargs": {**fixture["kwargs"], option: value}}, tmp_path / f"{name}.pt")
    monkeypatch.setenv("GRPE_PARITY", str(tmp_path))
    module = importlib.import_module(f"tests.models.{family}.test_parity")
    arguments = (name,) if family == "gcn" else (name, PNASettings)
    with pytest.raises(AssertionError, match=f"{option} is {value} in the fixture; the model here"):
        getattr(module, function)(*arguments)

from pathlib import Path

import numpy as np
import pytest

import grpe_dgl.data
from tests.data.random_graphs import NODE_VOCABULARY, NUM_EDGE_TYPES, random_graphs

SPLITS = {"train": np.arange(20, 3, -1), "valid": np.array([0, 22, 2]), "test": np.array([3, 21, 1])}


@pytest.fixture
def regression(tmp_path: Path) -> Path:
    """23 graphs with two regression targets, some missing, in splits that are not in order."""
    labels = np.random.default_rng(1).normal(3.0, 2.0, (23, 2)).astype(np.float32)
    labels[5, 1] = np.nan
    grpe_dgl.data.write(
        tmp_path / "regression",
        random_graphs(23),
        labels,
        SPLITS,
        task="regression",
        node_vocabulary=NODE_VOCABULARY,
        num_edge_types=NUM_EDGE_TYPES,
    )
    return tmp_path / "regression"


@pytest.fixture
def node_classes(tmp_path: Path) -> Path:
    """23 graphs with one of four classes per node."""
    graphs = random_graphs(23, 5, node_labels=True)
    grpe_dgl.data.write(tmp_path / "nodes", graphs, None, SPLITS, task="multiclass")
    return tmp_path / "nodes"

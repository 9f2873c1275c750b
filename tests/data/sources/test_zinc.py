import dgl
import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.data.sources.dgl_files import count_graphs
from grpe_dgl.data.sources.zinc import zinc
from grpe_dgl.data.store.preprocess import preprocess
from grpe_dgl.errors import InputError

FOLDER = "zinc_8af4f93b"  # where dgl.data.ZINCDataset keeps its files


def molecule(random, n):
    a = np.arange(1, n)
    b = np.array([random.integers(i) for i in a], np.int64)
    graph = dgl.graph((np.concatenate([a, b]), np.concatenate([b, a])), num_nodes=n)
    graph.ndata["feat"] = torch.from_numpy(random.integers(28, size=n))
    graph.edata["feat"] = torch.from_numpy(np.tile(random.integers(1, 4, size=n - 1), 2))
    return graph


def test_reads_what_dgl_reads(tmp_path):
    random = np.random.default_rng(0)
    published = {}
    (tmp_path / FOLDER).mkdir()
    for split, count in (("train", 503), ("valid", 3), ("test", 2)):  # train needs two jobs
        graphs = [molecule(random, int(n)) for n in random.integers(2, 9, size=count)]
        labels = torch.from_numpy(random.normal(size=count).astype(np.float32))
        published[split] = (graphs, labels)
        file = tmp_path / FOLDER / f"ZincDGL_{split}.bin"
        dgl.save_graphs(str(file), graphs, {"g_label": labels})
        assert count_graphs(file) == count
    preprocess(zinc(tmp_path), tmp_path / "zinc")
    data = grpe_dgl.data.load(tmp_path / "zinc")
    assert data.schema.node_vocabulary == (28,) and data.schema.num_edge_types == 4
    for split, (graphs, labels) in published.items():
        assert len(data[split]) == len(graphs)
        for i in (0, 1, len(graphs) - 1):
            graph, label = data[split][i]
            assert label.tolist() == [labels[i].item()]
            assert torch.equal(torch.stack(graph.edges()), torch.stack(graphs[i].edges()))
            assert torch.equal(graph.ndata["feat"][:, 0], graphs[i].ndata["feat"])
            assert torch.equal(graph.edata["feat"], graphs[i].edata["feat"])


def test_a_file_cut_short(tmp_path):
    (tmp_path / FOLDER).mkdir()
    graphs = [molecule(np.random.default_rng(0), 5)] * 50
    for split in ("train", "valid", "test"):
        file = tmp_path / FOLDER / f"ZincDGL_{split}.bin"
        dgl.save_graphs(str(file), graphs, {"g_label": torch.zeros(50)})
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="ZincDGL_test.bin is corrupt: DGL cannot read it"):
        preprocess(zinc(tmp_path), tmp_path / "zinc")
    assert not (tmp_path / "zinc").exists()


@pytest.mark.slow
def test_the_real_thing(shared_raw, tmp_path):
    preprocess(zinc(shared_raw / "dgl"), tmp_path / "zinc")
    data = grpe_dgl.data.load(tmp_path / "zinc")
    assert {name: len(split) for name, split in data.splits.items()} == {"train": 10000, "valid": 1000, "test": 1000}
    reference = dgl.data.ZINCDataset("valid", raw_dir=str(shared_raw / "dgl"))
    for i in range(0, 1000, 97):
        (graph, label), (expected, expected_label) = data.valid[i], reference[i]
        assert torch.equal(torch.stack(graph.edges()), torch.stack(expected.edges()))
        assert torch.equal(graph.ndata["feat"][:, 0], expected.ndata["feat"])
        assert torch.equal(graph.edata["feat"], expected.edata["feat"])
        assert label.item() == expected_label.item()

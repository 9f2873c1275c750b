"""Damaged files of `dgl.save_graphs`: DGL ends its process on many of them, and never this one."""

import collections

import dgl
import numpy as np
import pytest
import torch

from grpe_dgl.data.sources.dgl_files import count_graphs, read_graphs
from grpe_dgl.errors import InputError
from tests.fuzz.effort import SEED, effort, report


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    rng = np.random.default_rng(SEED)
    graphs = []
    for _ in range(12):
        n = int(rng.integers(3, 9))
        graph = dgl.graph((rng.integers(0, n, 2 * n), rng.integers(0, n, 2 * n)), num_nodes=n)
        graph.ndata["feat"] = torch.from_numpy(rng.integers(0, 28, n))
        graph.edata["feat"] = torch.from_numpy(rng.integers(1, 4, 2 * n))
        graphs.append(graph)
    file = tmp_path_factory.mktemp("dgl") / "whole.bin"
    dgl.save_graphs(str(file), graphs, {"g_label": torch.zeros(12)})
    return file.read_bytes()


def use(file):
    try:
        count = count_graphs(file)
        read_graphs(file, 0, min(count, 500), ("feat",), ("feat",))
        return "read"
    except InputError as error:
        assert str(file) in str(error)
        if "its process ended with" in str(error):
            return f"InputError, after {str(error).split('ended with ')[1].split(':')[0].rstrip(')')} of the reader"
        return "InputError"


def test_a_damaged_file_does_not_end_the_process(content, tmp_path):
    rng = np.random.default_rng(SEED)
    gave = collections.Counter()
    file = tmp_path / "damaged.bin"
    file.write_bytes(content)
    assert use(file) == "read"
    for number in range(effort(12, 100)):
        changed = bytearray(content)
        if number % 4 == 0:
            changed = changed[: int(rng.integers(40, len(changed)))]
        else:
            at = int(rng.integers(4000, len(changed)))  # before that are the positions of graphs, most of them unused
            changed[at] ^= 1 << int(rng.integers(8)) if number % 4 == 1 else 0xFF
        file.write_bytes(changed)
        gave[use(file)] += 1
    report("DGL files, random", gave)
    file.write_bytes(content)
    assert use(file) == "read"


def test_a_file_that_ends_the_reader(content, tmp_path):
    file = tmp_path / "damaged.bin"
    for at in range(4116, len(content), 41):  # about one in nine ends DGL's process
        changed = bytearray(content)
        changed[at] ^= 0xFF
        file.write_bytes(changed)
        if use(file).startswith("InputError, after SIG"):
            break
    else:
        pytest.fail("no damage ended the reader: this test shows nothing")
    file.write_bytes(content)
    assert use(file) == "read"  # a new reader took over

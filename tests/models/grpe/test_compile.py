import shutil

import pytest
import torch

from grpe_dgl.export.module import padded
from grpe_dgl.padded import PaddedBatch
from tests.transforms.test_pair_structure import model, pair_graph

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch, when it imports its compiler


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def test_a_compiled_model_takes_pair_graphs_as_before():
    """With the default backend: a DGLGraph is computed as without torch.compile, gradients too."""
    plain, pairs = model(3), pair_graph(3)
    compiled = torch.compile(plain)
    for _ in range(2):
        torch.testing.assert_close(compiled(pairs), plain(pairs))
    compiled(pairs).sum().backward()
    found = plain.virtual_node.grad.clone()
    plain.zero_grad()
    plain(pairs).sum().backward()
    torch.testing.assert_close(found, plain.virtual_node.grad)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_a_compiled_model_compiles_padded_batches():
    plain, pairs = model(3), pair_graph(3)
    found = torch.compile(plain)(PaddedBatch(*padded(pairs)))
    torch.testing.assert_close(found, plain(pairs), rtol=1e-4, atol=1e-5)

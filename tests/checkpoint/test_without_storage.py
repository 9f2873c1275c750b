import subprocess
import sys

import torch
from torch import nn

from grpe_dgl.checkpoint.without_storage import without_storage


def test_names_and_shapes_without_storage():
    with without_storage():
        model = nn.Sequential(nn.Embedding(3, 5), nn.Linear(5, 7), nn.LayerNorm(7))
    assert {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()} == {
        "0.weight": (3, 5),
        "1.weight": (7, 5),
        "1.bias": (7,),
        "2.weight": (7,),
        "2.bias": (7,),
    }
    assert all(tensor.is_meta for tensor in model.state_dict().values())


def test_random_values_outside_are_drawn():
    with without_storage():
        pass
    assert torch.empty(9).normal_().abs().sum() > 0


def test_torchs_compiler_is_not_imported():
    program = (
        "import sys; from torch import nn; from grpe_dgl.checkpoint.without_storage import without_storage\n"
        "with without_storage(): nn.Embedding(3, 5), nn.Linear(5, 7), nn.init.xavier_uniform_(nn.Linear(5, 7).weight)\n"
        "assert 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

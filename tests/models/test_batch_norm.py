import torch
from torch import nn

from grpe_dgl.models.batch_norm import BatchNorm


def test_is_torchs_batch_norm_for_more_than_one_row():
    ours, theirs = BatchNorm(3), nn.BatchNorm1d(3)
    generator = torch.Generator().manual_seed(0)
    for _ in range(3):
        x = torch.randn(5, 3, generator=generator)
        assert torch.equal(ours(x), theirs(x))
    assert all(torch.equal(value, theirs.state_dict()[key]) for key, value in ours.state_dict().items())
    assert torch.equal(ours.eval()(x), theirs.eval()(x))


def test_a_single_row_is_normalised_by_the_running_statistics_and_does_not_change_them():
    norm = BatchNorm(2, eps=0.0)
    norm.running_mean.copy_(torch.tensor([1.0, -2.0]))
    norm.running_var.copy_(torch.tensor([4.0, 0.25]))
    nn.init.constant_(norm.weight, 3.0)
    before = {key: value.clone() for key, value in norm.state_dict().items()}
    assert norm(torch.tensor([[5.0, -1.0]])).tolist() == [[6.0, 6.0]]
    assert all(torch.equal(value, before[key]) for key, value in norm.state_dict().items())

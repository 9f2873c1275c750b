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


def test_padding_counts_in_no_statistics():
    ours, theirs = BatchNorm(3).double(), nn.BatchNorm1d(3).double()
    mask = torch.tensor([[True, True, False], [True, False, False], [True, True, True]])
    generator = torch.Generator().manual_seed(0)
    for _ in range(3):
        x = torch.randn(3, 3, 3, generator=generator, dtype=torch.float64)
        torch.testing.assert_close(ours(x, mask)[mask], theirs(x[mask]), rtol=0, atol=1e-12)
        x[~mask] = 1e6
    for key, value in theirs.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[key], value, rtol=0, atol=1e-12)
    torch.testing.assert_close(ours.eval()(x, mask)[mask], theirs.eval()(x[mask]), rtol=0, atol=1e-12)


def test_a_single_row_among_padding_does_not_change_the_running_statistics():
    norm = BatchNorm(2)
    before = {key: value.clone() for key, value in norm.state_dict().items()}
    x = torch.randn(1, 4, 2)
    mask = torch.tensor([[True, False, False, False]])
    torch.testing.assert_close(norm(x, mask), x / (1 + norm.eps) ** 0.5)
    assert all(torch.equal(value, before[key]) for key, value in norm.state_dict().items())

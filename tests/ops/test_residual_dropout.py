import pytest
import torch

from grpe_dgl.ops.residual_dropout import residual_dropout


def draw_keep_mask(shape, dropout, dtype=torch.float32):
    """Return which numbers are kept, scaled: an update of ones is added to zeros."""
    return residual_dropout(torch.zeros(shape, dtype=dtype), torch.ones(shape, dtype=dtype), dropout)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(1, 3), (7, 80), (64, 64), (3, 1365), (4, 1024, 9)])
def test_numbers_are_dropped_or_scaled(shape, dtype):
    torch.manual_seed(0)
    x, update = torch.randn(2, *shape, dtype=dtype)
    torch.manual_seed(1)
    keep_mask = draw_keep_mask(shape, 0.25, dtype)
    assert all(value in (0.0, pytest.approx(1 / 0.75)) for value in keep_mask.unique().tolist())
    torch.manual_seed(1)
    torch.testing.assert_close(residual_dropout(x, update, 0.25), x + keep_mask * update)


@pytest.mark.parametrize("dropout", [0.1, 0.5])
def test_what_is_dropped_is_random(dropout):
    torch.manual_seed(0)
    keep_mask = torch.stack([draw_keep_mask((40_000, 8), dropout) for _ in range(4)]) * (1 - dropout) - (1 - dropout)
    deviation = (dropout * (1 - dropout)) ** 0.5
    for mean in (keep_mask.mean(), *keep_mask.mean(1).flatten()):  # of all, and of every column
        assert abs(mean) < 5 * deviation / (40_000**0.5)
    for shift in (1, 8, 4096):  # neighbours, rows, blocks
        flat = keep_mask.flatten(1)
        assert abs((flat[:, shift:] * flat[:, :-shift]).mean()) < 5 * deviation**2 / flat[:, shift:].numel() ** 0.5
    assert abs((keep_mask[0] * keep_mask[1]).mean()) < 5 * deviation**2 / keep_mask[0].numel() ** 0.5  # two seeds


def test_gradient():
    x, update = torch.randn(2, 9, 7, dtype=torch.float64, requires_grad=True)

    def seeded(x, update):
        torch.manual_seed(3)
        return residual_dropout(x, update, 0.4)

    assert torch.autograd.gradcheck(seeded, (x, update))
    assert torch.autograd.gradgradcheck(lambda x, update: seeded(x, update).pow(3), (x, update))
    assert torch.autograd.gradcheck(lambda x, update: seeded(x.T, update.T), (x, update))


def test_threads_change_nothing():
    results = []
    for threads in (1, 2):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        torch.manual_seed(0)
        results.append(draw_keep_mask((300, 77), 0.3))
        torch.set_num_threads(before)
    assert torch.equal(*results)


def test_nothing_is_kept_for_the_backward_pass():
    saved = []
    x = torch.randn(8, 8, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: saved.append(tensor), lambda _: None):
        residual_dropout(x, x, 0.5)
    assert not saved


def test_other_types_take_torch_s_dropout():
    x = torch.zeros(64, 64, dtype=torch.bfloat16)
    assert set(residual_dropout(x, x + 1, 0.5).unique().tolist()) == {0.0, 2.0}
    assert residual_dropout(x, x + 1, 0.0).eq(1).all()
    assert residual_dropout(torch.zeros(0, 4), torch.zeros(0, 4), 0.5).shape == (0, 4)

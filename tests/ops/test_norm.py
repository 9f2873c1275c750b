import pytest
import torch
import torch.nn.functional as F

from grpe_dgl.ops.fused.norm import add_and_norm


@pytest.mark.parametrize("rows, width, threads", [(1, 1, 1), (3, 7, 1), (257, 80, 2), (0, 5, 1), (300, 131, 2)])
def test_equals_the_norm_of_the_sum(rows, width, threads):
    torch.manual_seed(rows)
    x, added = 3 + torch.randn(rows, width), torch.randn(width)
    weight, bias, out = torch.randn(width), torch.randn(width), torch.full((rows, width), torch.nan)
    total = x + added
    expected = F.layer_norm(total.double(), (width,), weight.double(), bias.double(), 1e-5)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        add_and_norm(x, added, weight, bias, 1e-5, out)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(x, total)
    torch.testing.assert_close(out.double(), expected, rtol=1e-5, atol=1e-5)


def test_rows_do_not_depend_on_their_place_or_the_threads():
    x = torch.randn(1, 80).repeat(1000, 1)
    added, weight, bias = torch.randn(3, 80)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        add_and_norm(x, added, weight, bias, 1e-5, out := torch.empty_like(x))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(out, out[:1].expand_as(out))

"""The maps of pairs in pieces equal the plain ones, forward and backward."""

import pytest
import torch
from torch import nn

from grpe_dgl.models.egt import pair_rows
from grpe_dgl.models.egt.layer import FeedForward


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(pair_rows, "ROWS_AT_A_TIME", 3)


def _outputs_and_gradients(function, inputs, modules):
    parameters = [p for module in modules for p in module.parameters()]
    inputs = [x.clone().requires_grad_() for x in inputs]
    found = function(*inputs)
    torch.manual_seed(1)
    return [found, *torch.autograd.grad((found * torch.randn_like(found)).sum(), [*inputs, *parameters])]


@pytest.mark.parametrize("rows", [0, 1, 3, 11])
def test_maps_in_pieces_equal_the_plain_ones(rows, monkeypatch):
    torch.manual_seed(0)
    norm, linear = nn.LayerNorm(16).double(), nn.Linear(16, 7).double()
    output, ffn = nn.Linear(3, 16).double(), FeedForward(16, 24, 1e-3).double()
    for parameter in (*norm.parameters(), *ffn.parameters()):
        nn.init.normal_(parameter)
    e, scores = torch.randn(rows, 16).double(), torch.randn(rows, 3).double()
    assert pair_rows.in_pieces(e, 16, 24)

    def both():
        return [
            *_outputs_and_gradients(
                lambda e: pair_rows.norm_and_map(e, norm, linear.weight, linear.bias), [e], [norm, linear]
            ),
            *_outputs_and_gradients(
                lambda e, scores: pair_rows.update(e, scores, output, ffn), [e, scores], [output, ffn]
            ),
        ]

    in_pieces = both()
    monkeypatch.setattr(pair_rows, "in_pieces", lambda x, *widths: False)
    for ours, plain in zip(in_pieces, both(), strict=True):
        torch.testing.assert_close(ours, plain, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("width", "inner"), [(5, 8), (8, 5)])
def test_widths_of_no_whole_vectors_take_the_plain_maps(width, inner):
    output, ffn = nn.Linear(2, width), FeedForward(width, inner, 1e-3)
    e, scores = torch.randn(4, width), torch.randn(4, 2)
    middle = e + output(scores)
    torch.testing.assert_close(pair_rows.update(e, scores, output, ffn), middle + ffn(middle))


def test_padded_pairs_and_autocast_take_the_plain_maps():
    norm, linear = nn.LayerNorm(5), nn.Linear(5, 7)
    e = torch.randn(2, 3, 3, 5)
    found = pair_rows.norm_and_map(e, norm, linear.weight, linear.bias)
    torch.testing.assert_close(found, linear(norm(e)))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert pair_rows.norm_and_map(e[0, 0], norm, linear.weight, linear.bias).dtype == torch.bfloat16

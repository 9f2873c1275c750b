"""The feed-forward network of the positional encoding, and where its dropout falls."""

import torch
from torch import nn

from grpe_dgl.models.san.encoding_layer import EncodingLayer, dropped_positions


def test_without_dropout_it_is_torchs_layer_forward_and_backward():
    torch.manual_seed(0)
    ours = EncodingLayer(4, 2, 13, 0.0, batch_first=True).double()
    theirs = nn.TransformerEncoderLayer(4, 2, 13, 0.0, batch_first=True).double()
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(3, 5, 4).double()
    missing = torch.tensor([[False] * 5, [False] * 3 + [True] * 2, [False] + [True] * 4])
    both = [ours(x, missing), theirs(x, src_key_padding_mask=missing)]
    for found in both:
        found[~missing].square().sum().backward()
    torch.testing.assert_close(both[0][~missing], both[1][~missing], rtol=0, atol=1e-13)
    for (name, one), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=0, atol=1e-12, msg=name)


def test_gradients_agree_with_the_numbers_that_dropout_left():
    layer = EncodingLayer(3, 1, 17, 0.4, batch_first=True).double()
    layer.dropout2.p = 0.0
    x = torch.randn(7, 3).double().requires_grad_()

    def same_dropout(x):
        torch.manual_seed(5)
        return layer._ff_block(x)

    assert torch.autograd.gradcheck(same_dropout, [x])
    torch.manual_seed(5)
    keep = torch.ones(7 * 17).double()
    keep[dropped_positions(7 * 17, 0.4)] = 0
    expected = layer.linear2(layer.linear1(x).relu() * keep.view(7, 17) / 0.6)
    torch.testing.assert_close(same_dropout(x), expected)


def test_every_position_is_dropped_with_the_given_probability_on_its_own():
    torch.manual_seed(0)
    draws = torch.zeros(4000, 23)
    for row in draws:
        row[dropped_positions(23, 0.3)] = 1
    assert (draws.mean(0) - 0.3).abs().max() < 0.03  # 4 standard deviations
    covariance = torch.cov(draws.T) - 0.21 * torch.eye(23)
    assert covariance.abs().max() < 0.02


def test_dropout_of_everything_and_of_almost_nothing():
    assert dropped_positions(5, 1.0).tolist() == [0, 1, 2, 3, 4]
    assert len(dropped_positions(10, 1e-9)) == 0
    assert len(dropped_positions(0, 0.5)) == 0

"""One layer of the transformer inside SAN's positional encoding, many times wider inside its FFN than outside."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class EncodingLayer(nn.TransformerEncoderLayer):
    """`torch.nn.TransformerEncoderLayer` (post-norm, ReLU, batch first) that is faster in training and can be exported.

    It is written in plain operations, as torch's own fused ones cannot be exported. Of a width of 8 outside and 2048
    inside, nearly all time is spent on the numbers inside. Dropout of these draws only the positions that are dropped,
    whose distances are geometrically distributed, instead of a number for each; its factor 1 / (1 - p) is part of the
    second map's weight; and a single tensor is stored for the backward pass, as what ReLU or dropout has set to zero
    has no gradient.
    """

    def forward(self, x: Tensor, missing: Tensor) -> Tensor:  # type: ignore[override]
        """Return x (..., m, width) after the layer.

        `missing`, (..., m) bool, marks places that nothing attends to; not all m of a row, as a softmax needs a key.
        """
        x = self.norm1(x + self.dropout1(self._attend(x, missing)))
        return self.norm2(x + self._ff_block(x))

    def _attend(self, x: Tensor, missing: Tensor) -> Tensor:
        own = self.self_attn
        qkv = F.linear(x, own.in_proj_weight, own.in_proj_bias).unflatten(-1, (3, own.num_heads, -1))
        q, k, v = qkv.movedim(-3, 0).transpose(-2, -3).unbind(0)  # (..., H, m, D) each
        scores = q @ k.transpose(-1, -2) * own.head_dim**-0.5
        weights = scores.masked_fill(missing[..., None, None, :], -torch.inf).softmax(-1)
        z = F.dropout(weights, own.dropout, self.training) @ v
        return own.out_proj(z.transpose(-2, -3).flatten(-2))

    def _ff_block(self, x: Tensor) -> Tensor:
        """Return what follows the attention, (..., width) as x."""
        plain = not self.training or x.device.type != "cpu"
        if plain or torch.is_autocast_enabled("cpu") or torch.compiler.is_compiling():
            return super()._ff_block(x)
        widen, narrow = self.linear1, self.linear2
        rows = _WideFFN.apply(x.flatten(0, -2), widen.weight, widen.bias, narrow.weight, narrow.bias, self.dropout.p)
        return self.dropout2(rows.view(x.shape))


class _WideFFN(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, widen: Tensor, widen_bias: Tensor, narrow: Tensor, bias: Tensor, p: float
    ) -> Tensor:
        inside = torch.addmm(widen_bias, x, widen.T).relu_()
        if p:
            inside.view(-1).index_fill_(0, dropped_positions(inside.numel(), p), 0.0)
        ctx.save_for_backward(x, widen, narrow, inside)
        ctx.scale = 1 / (1 - p) if p < 1 else 0.0
        return torch.addmm(bias, inside, narrow.T * ctx.scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, widen, narrow, inside = ctx.saved_tensors
        of_narrow = grad.T @ inside * ctx.scale
        of_inside = torch.ops.aten.threshold_backward(grad @ (narrow * ctx.scale), inside, 0)
        # With the thin matrix on the left, whose product has long rows: several times faster than the other way round.
        of_widen = (x.T @ of_inside).T
        of_x = of_inside @ widen.T.contiguous().T
        return of_x, of_widen, of_inside.sum(0), of_narrow, grad.sum(0), None


def dropped_positions(count: int, p: float) -> Tensor:
    """Return the positions among `count` at which independent draws of probability p succeed, ascending, int64."""
    if p >= 1:
        return torch.arange(count)
    likely = int(count * p + 5 * math.sqrt(count * p)) + 10
    positions = torch.empty(0, dtype=torch.int64)
    last = -1
    while last < count:
        steps = torch.empty(likely, dtype=torch.int64).geometric_(p).cumsum(0)
        positions = torch.cat([positions, steps + last])
        last = int(positions[-1])
    return positions[: int(torch.searchsorted(positions, count))]

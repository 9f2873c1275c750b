"""A transformer block as one operation with its gradients written out, for training on the CPU.

It is the block of `grpe_dgl.models.grpe.layer` with the same products and the same random numbers. Composed of torch's
operations, a small batch spends a third of a step between them: on autograd's nodes, on joining the gradients of
queries, keys and values, and on checking the same pair graph in every layer.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from grpe_dgl.ops.fused.operation import Options, attend, attention_gradients
from grpe_dgl.ops.fused.residual import add_with_dropout
from grpe_dgl.ops.recomputation import KEPT_BYTES
from grpe_dgl.ops.transformer_block import BlockOptions, BlockWeights

_layer_norm, _layer_norm_backward = torch.native_layer_norm, torch.ops.aten.native_layer_norm_backward
_gelu_backward = torch.ops.aten.gelu_backward


class FusedBlock(torch.autograd.Function):
    """See `grpe_dgl.ops.transformer_block.transformer_block`, which calls it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *others: Any) -> Tensor:
        """Return the block's output; `others` are the weights, the three tables, the options of both kinds."""
        *tensors, options, attention = others
        weights = BlockWeights(*tensors[:12])
        tables = [table if table is None else table.contiguous() for table in tensors[12:]]
        normed, *moments = _norm(x, weights.attention_norm, weights.attention_norm_bias, options.attention_eps)
        projected = torch.addmm(weights.qkv_bias, normed, weights.qkv.t())
        z, statistics = attend(*_heads(projected, options), tables, attention)
        rows = options.rows
        update = torch.addmm(weights.output_bias, _rows(z.view(x.shape), rows), weights.output.t())
        y = _add(_rows(x, rows), update, options, 0, len(x))
        ffn_normed, *ffn_moments = _norm(y, weights.ffn_norm, weights.ffn_norm_bias, options.ffn_eps)
        wide = torch.addmm(weights.widen_bias, ffn_normed, weights.widen.t())
        active = F.gelu(wide)
        update = torch.addmm(weights.narrow_bias, active, weights.narrow.t())
        # What is cheap to compute again is kept only where it is small; see `ops.recomputation`.
        kept = [value if _is_small(value) else None for value in (normed, ffn_normed, active)]
        ctx.save_for_backward(x, *moments, projected, z, statistics, y, *ffn_moments, wide, *kept, *weights, *tables)
        ctx.options = options, attention
        return _add(y, update, options, 1, len(x))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        """Return the gradients of x, the weights and the tables."""
        saved = ctx.saved_tensors
        x, mean, deviation, projected, z, statistics, y, ffn_mean, ffn_deviation, wide = saved[:10]
        normed, ffn_normed, active = saved[10:13]
        weights, tables = BlockWeights(*saved[13:25]), saved[25:]
        options, attention = ctx.options
        wanted = BlockWeights(*ctx.needs_input_grad[1:13])
        grad = grad.contiguous()

        g = _drop(grad, options, 1, len(x))
        active = F.gelu(wide) if active is None else active
        narrow, narrow_bias = _linear_gradients(g, active, wanted.narrow, wanted.narrow_bias)
        g = _gelu_backward(g.mm(weights.narrow), wide)
        if ffn_normed is None:
            ffn_normed = _norm(y, weights.ffn_norm, weights.ffn_norm_bias, options.ffn_eps)[0]
        widen, widen_bias = _linear_gradients(g, ffn_normed, wanted.widen, wanted.widen_bias)
        g, ffn_norm, ffn_norm_bias = _norm_gradients(
            g.mm(weights.widen), y, ffn_mean, ffn_deviation, weights.ffn_norm, weights.ffn_norm_bias
        )
        grad = g.add_(grad)  # of y

        g = _drop(grad, options, 0, len(x))
        rows, by_row = options.rows, z.view(x.shape)
        output, output_bias = _linear_gradients(g, _rows(by_row, rows), wanted.output, wanted.output_bias)
        grad_z = g.mm(weights.output)
        if rows is not None:
            grad_z = torch.empty_like(by_row).index_copy_(0, rows, grad_z)  # the kernel reads no other row
        g, grad_tables = attention_gradients(
            *_heads(projected, options), tables, attention, z, statistics, grad_z, some_queries=rows is not None
        )
        g = g.view(projected.shape)
        if normed is None:
            normed = _norm(x, weights.attention_norm, weights.attention_norm_bias, options.attention_eps)[0]
        qkv, qkv_bias = _linear_gradients(g, normed, wanted.qkv, wanted.qkv_bias)
        g, attention_norm, attention_norm_bias = _norm_gradients(
            g.mm(weights.qkv), x, mean, deviation, weights.attention_norm, weights.attention_norm_bias
        )
        gradients = BlockWeights(
            attention_norm=attention_norm,
            attention_norm_bias=attention_norm_bias,
            qkv=qkv,
            qkv_bias=qkv_bias,
            output=output,
            output_bias=output_bias,
            ffn_norm=ffn_norm,
            ffn_norm_bias=ffn_norm_bias,
            widen=widen,
            widen_bias=widen_bias,
            narrow=narrow,
            narrow_bias=narrow_bias,
        )
        grad_x = g.add_(grad) if rows is None else g.index_add_(0, rows, grad)
        return grad_x, *gradients, *grad_tables, None, None


def fused_block(x: Tensor, weights: BlockWeights, tables: tuple[Any, ...], options: BlockOptions, plan: Any) -> Tensor:
    """Return the block's output, (N or rows, hidden_size), for the plan of the pair graph."""
    attention = Options(plan, options.key_self, options.attention_dropout, options.attention_seed)
    result: Tensor = FusedBlock.apply(x.contiguous(), *weights, *tables, options, attention)
    return result


def _heads(projected: Tensor, options: BlockOptions) -> tuple[Tensor, Tensor, Tensor]:
    """Return q, k and v, (N, H, D) each."""
    q, k, v = projected.view(len(projected), 3, options.num_heads, -1).unbind(1)
    return q, k, v


def _rows(x: Tensor, rows: Tensor | None) -> Tensor:
    return x if rows is None else x.index_select(0, rows)


def _norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    return _layer_norm(x, weight.shape, weight, bias, eps)


def _norm_gradients(
    grad: Tensor, x: Tensor, mean: Tensor, deviation: Tensor, weight: Tensor, bias: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    gradients: tuple[Tensor, Tensor, Tensor] = _layer_norm_backward(
        grad, x, weight.shape, mean, deviation, weight, bias, [True, True, True]
    )
    return gradients


def _linear_gradients(grad: Tensor, x: Tensor, weight: bool, bias: bool) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients of a linear map's weight and bias, as far as they are wanted."""
    return grad.t().mm(x) if weight else None, grad.sum(0) if bias else None


def _add(x: Tensor, update: Tensor, options: BlockOptions, branch: int, nodes: int) -> Tensor:
    """Return x + dropout(update), in the memory of the update where that is of all nodes."""
    if not options.dropout:
        return update.add_(x)
    if options.rows is not None:
        return _drop(update, options, branch, nodes).add_(x)
    add_with_dropout(x, update, options.dropout, options.seeds[branch], update)
    return update


def _drop(values: Tensor, options: BlockOptions, branch: int, nodes: int) -> Tensor:
    """Return values after the dropout of a branch.

    A mask depends on the position: rows of some nodes take their places among all, and so the masks that they would
    have if every node were computed.
    """
    if not options.dropout:
        return values
    rows = options.rows
    whole = values if rows is None else values.new_zeros(nodes, values.shape[1]).index_copy_(0, rows, values)
    out = torch.empty_like(whole)
    add_with_dropout(None, whole, options.dropout, options.seeds[branch], out)
    return _rows(out, rows)


def _is_small(value: Tensor) -> bool:
    return value.numel() * value.element_size() < KEPT_BYTES

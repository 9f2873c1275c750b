"""Gated attention with an edge channel, as EGT has it, of ragged graphs on the CPU."""

from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

LANES = 8
LIMIT = 5.0
WORK_PER_THREAD = 2048  # pairs


class Attended(NamedTuple):
    """What `gated_attention` returns; N nodes, M pairs, H heads, D head size."""

    z: Tensor
    """(N, D * H)."""
    scores: Tensor
    """(M, H)."""
    degree: Tensor
    """(N, H): the sum of a query's gates."""


def gated_attention(
    sizes: Tensor, qkv: Tensor, maps: Tensor, num_heads: int, *, random_mask: float = 0.0, dropout: float = 0.0
) -> Attended:
    """Return ``z_i = sum_j softmax_j(s_ij) sigmoid(c_ij) v_j`` with ``s_ij = clip(q_i . k_j / sqrt(D), -5, 5) + b_ij``.

    One kernel forward and one backward, without padding: of the pairs only the scores are written. A query that sees no
    key has z = 0.

    Parameters
    ----------
    sizes
        (graphs,): their nodes; all pairs of a graph attend, row i n + j of its n^2 being query i and key j.
    qkv
        (N, 3 * D * H): q, k and v, the head being the fastest index.
    maps
        (M, 2 * H): b, then c.
    num_heads
        H.
    random_mask
        The probability that a head does not see a key.
    dropout
        Of the gated weights.
    """
    missing = -num_heads % LANES
    qkv = qkv.unflatten(-1, (3, -1, num_heads))
    maps = maps.unflatten(-1, (2, num_heads))
    if missing:
        qkv, maps = F.pad(qkv, (0, missing)), F.pad(maps, (0, missing))
    seeds = tuple(int(torch.randint(2**62, ())) if chance else 0 for chance in (random_mask, dropout))
    z, scores, degree = _GatedAttention.apply(qkv, maps, sizes.numpy(), (random_mask, dropout), seeds)
    return Attended(z[..., :num_heads].flatten(-2), scores[..., :num_heads], degree[..., :num_heads])


class _GatedAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, qkv: Tensor, maps: Tensor, sizes: Any, chances: tuple[float, float], seeds: tuple[int, int]
    ) -> tuple[Tensor, Tensor, Tensor]:
        from grpe_dgl.ops.fused.gated import forward_kernel

        qkv, maps = qkv.contiguous(), maps.contiguous()
        nodes, _, head_size, heads = qkv.shape
        z, scores = qkv.new_empty(nodes, head_size, heads), maps.new_empty(len(maps), heads)
        degree, statistics = qkv.new_empty(nodes, heads), qkv.new_empty(nodes, heads, 2)
        ctx.options, ctx.sizes = (chances, seeds), sizes
        _run(forward_kernel, _forward(ctx.options, sizes, qkv, maps, scores, z, degree, statistics), sizes)
        ctx.save_for_backward(qkv, maps, scores, z, degree, statistics)
        return z, scores, degree

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_z: Tensor, of_scores: Tensor, of_degree: Tensor) -> Any:
        from grpe_dgl.ops.fused.gated import Backward, backward_kernel

        qkv, maps, *others = ctx.saved_tensors
        of_qkv, of_maps = torch.zeros_like(qkv), torch.empty_like(maps)
        arrays = [_flat(grad.contiguous()) for grad in (of_scores, of_z, of_degree, of_qkv, of_maps)]
        call = Backward(_forward(ctx.options, ctx.sizes, qkv, maps, *others), *arrays)
        _run(backward_kernel, call, ctx.sizes)
        return of_qkv, of_maps, None, None, None


def _forward(options: Any, sizes: Any, qkv: Tensor, maps: Tensor, *others: Tensor) -> Any:
    """Return the arguments of the forward kernel."""
    from grpe_dgl.offsets import offsets_of
    from grpe_dgl.ops.fused.gated import Forward, Options

    (hidden, dropout), (hidden_seed, dropout_seed) = options
    _, _, head_size, heads = qkv.shape
    fixed = Options(
        head_size, heads // LANES, head_size**-0.5, LIMIT, float(hidden), np.uint64(hidden_seed), float(dropout),
        np.uint64(dropout_seed),
    )  # fmt: skip
    sizes = sizes.astype(np.int64)
    pair_offsets = offsets_of(sizes * sizes)
    threads = min(torch.get_num_threads(), 1 + int(pair_offsets[-1]) // WORK_PER_THREAD)
    shares = np.searchsorted(pair_offsets, pair_offsets[-1] * np.arange(threads + 1) // threads)
    shares[-1] = len(sizes)
    return Forward(fixed, shares, offsets_of(sizes), pair_offsets, *(_flat(x) for x in (qkv, maps, *others)))


def _run(kernel: Any, call: Any, sizes: Any) -> None:
    from grpe_dgl.kernels.openmp import run
    from grpe_dgl.ops.fused.pointers import plain

    if len(sizes):
        shares = (call if hasattr(call, "shares") else call.forward).shares
        run(kernel, len(shares) - 1, plain(call))


def _flat(x: Tensor) -> Any:
    return x.detach().view(-1).numpy()

"""Random inputs of the attention, for the tests of its backends."""

from collections.abc import Sequence
from typing import NamedTuple

import dgl
import torch
from torch import Tensor

from grpe_dgl.ops import relative_attention
from grpe_dgl.transforms.pair_structure import complete_pairs


class Inputs(NamedTuple):
    pairs: dgl.DGLGraph
    packed: Tensor  # (N, 3, H, D): q, k and v are views of it, as a layer's projection makes them
    tables: list[Tensor | None]
    grad: Tensor


def random_inputs(
    sizes: Sequence[int],
    heads: int,
    head_size: int,
    relations: int,
    *,
    dtype: torch.dtype = torch.float64,
    present: Sequence[bool] = (True, True, True),
    seed: int = 0,
) -> Inputs:
    generator = torch.Generator().manual_seed(seed)
    pairs = complete_pairs(torch.tensor(sizes))
    pairs.edata["relation"] = torch.randint(relations, (pairs.num_edges(),), generator=generator, dtype=torch.int32)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()

    packed = normal(sum(sizes), 3, heads, head_size)
    tables = [normal(relations, heads, head_size) if there else None for there in present]
    return Inputs(pairs, packed, tables, normal(sum(sizes), heads, head_size).detach())


def output_and_gradients(inputs: Inputs, backend: str, **options: object) -> list[Tensor]:
    z = relative_attention(inputs.pairs, *inputs.packed.unbind(1), *inputs.tables, backend=backend, **options)
    wanted = [inputs.packed, *(table for table in inputs.tables if table is not None)]
    return [z.detach(), *torch.autograd.grad(z, wanted, inputs.grad)]


def relative_error(found: Tensor, expected: Tensor) -> float:
    """Return the largest difference as a part of the largest value."""
    if not expected.numel():
        return 0.0
    found, expected = found.detach(), expected.detach()
    return float((found - expected).abs().max() / expected.abs().max().clamp(min=1e-30))

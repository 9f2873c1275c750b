"""The hypercomplex linear map, and how its parameters start."""

import math

import torch
from torch import Tensor, nn


class HypercomplexLinear(nn.Module):
    """y = x H + b with H = sum_i kron(C_i, W_i), i = 1..n: a parametrised hypercomplex multiplication (PHM).

    Parameters
    ----------
    components
        n: in_features and out_features are n blocks each.
    in_features, out_features
        Widths, multiples of n.

    Attributes
    ----------
    rule : Parameter
        C, (n, n, n): how blocks multiply; it starts as the rule of the complex numbers (n = 2), of the quaternions
        (n = 4) or as shifts with alternating signs.
    weight : Parameter
        W, (n, in_features / n, out_features / n).
    bias : Parameter
        (out_features,): it starts at 0 for the first block and 0.2 for the others.
    """

    def __init__(self, components: int, in_features: int, out_features: int) -> None:
        super().__init__()
        self.rule = nn.Parameter(multiplication_rule(components))
        self.weight = nn.Parameter(
            hypercomplex_weight(components, in_features // components, out_features // components)
        )
        bias = torch.full((out_features,), 0.2)
        bias[: out_features // components] = 0
        self.bias = nn.Parameter(bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return (rows, out_features) for x of shape (rows, in_features)."""
        matrix = torch.einsum("iab,icd->acbd", self.rule, self.weight)  # (n, in / n, n, out / n)
        return torch.addmm(self.bias, x, matrix.reshape(x.shape[-1], -1))


def multiplication_rule(components: int) -> Tensor:
    """Return the start value of C, (n, n, n)."""
    identity = torch.eye(components)
    if components == 2:
        return torch.stack([identity, torch.tensor([[0.0, -1.0], [1.0, 0.0]])])
    if components == 4:
        i = torch.tensor([[0.0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 0, -1], [0, 0, 1, 0]])
        j = torch.tensor([[0.0, 0, -1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, -1, 0, 0]])
        return torch.stack([identity, i, j, i @ j])
    signs = torch.diag(torch.tensor([1.0, -1.0]).repeat(components)[:components])
    shifted = [signs @ identity.roll(step, 1) for step in range(1, components)]
    return torch.stack([identity, *shifted])


def hypercomplex_weight(components: int, in_features: int, out_features: int) -> Tensor:
    """Return the start value of W: r (cos a, u sin a), all random, r of Glorot's scale and u a positive unit vector."""
    shape = (in_features, out_features)
    scale = math.sqrt(2 / (components * (in_features + out_features)))
    magnitude = scale * torch.randn(components, *shape).norm(dim=0)  # chi-distributed with n degrees of freedom
    angle = math.pi * (2 * torch.rand(shape) - 1)
    direction = nn.functional.normalize(torch.rand(components - 1, *shape), dim=0)
    return torch.cat([(magnitude * angle.cos()).unsqueeze(0), magnitude * direction * angle.sin()])

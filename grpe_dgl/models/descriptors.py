"""Descriptors of whole molecules, joined to a model's own vector of a graph before its head."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpe_dgl.errors import InputError
from grpe_dgl.views import DESCRIPTORS

QUANTILE = 0.01
LIMIT = 4.0
MOST = 20_000  # molecules that mean and deviation are taken of; torch's quantiles have an upper limit


class Descriptors(nn.Module):
    """Brings descriptors to a common scale; what is missing becomes 0, the mean.

    ::

        z = clip((d - mean) * scale, -4, 4)

    `mean` and 1 / `scale` are the mean and the deviation of the training molecules' descriptors, clipped to their
    quantiles 0.01 and 0.99; for a descriptor that is the same for all of them `scale` is 0. Both are part of the state
    dict, so they are stored with the model. Morgan counts, the last columns of the kind ``rdkit_morgan``, stay as they
    are (mean 0, scale 1): their logarithms have a common scale already, and rare ones would become large.

    Parameters
    ----------
    kind
        A key of `grpe_dgl.views.DESCRIPTORS`, which has the number D of them.
    dropout
        In training, the probability of each z to be 0.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, kind: str, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        size = DESCRIPTORS[kind]
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("scale", torch.ones(size))

    def fit(self, values: Tensor) -> None:
        """Take mean and deviation of the training molecules' descriptors, (G, D), NaN where missing."""
        values = values[:: max(1, len(values) // MOST)].double()
        low, high = (values.nanquantile(quantile, dim=0) for quantile in (QUANTILE, 1 - QUANTILE))
        clipped = torch.minimum(torch.maximum(values, low), high)
        mean = clipped.nanmean(0).nan_to_num()
        deviation = (clipped - mean).square().nanmean(0).sqrt().nan_to_num()
        self.mean.copy_(mean)
        self.scale.copy_(torch.where(deviation > 1e-6 * (1 + mean.abs()), 1 / deviation, 0.0))
        self.mean[DESCRIPTORS["rdkit"] :] = 0.0
        self.scale[DESCRIPTORS["rdkit"] :] = 1.0

    def forward(self, values: Tensor) -> Tensor:
        """Return the descriptors (B, D) in the common scale."""
        if values.shape[-1] != len(self.mean):
            raise InputError(f"a graph has {values.shape[-1]} descriptors; accepted: {len(self.mean)}")
        z = ((values - self.mean) * self.scale).nan_to_num().clamp(-LIMIT, LIMIT)
        return F.dropout(z, self.dropout, self.training)

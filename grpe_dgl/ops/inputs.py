"""What every backend of the attention takes besides the pairs."""

from typing import NamedTuple

import torch
from torch import Tensor


class AttentionInputs(NamedTuple):
    """The operands and options of `grpe_dgl.ops.relative_attention`, checked; a padded batch has (B, N, H, D)."""

    q: Tensor
    """(N, H, D)."""
    k: Tensor
    """(N, H, D)."""
    v: Tensor
    """(N, H, D)."""
    query_table: Tensor | None
    """(R, H, D), or None where the term is left out."""
    key_table: Tensor | None
    """(R, H, D), or None."""
    value_table: Tensor | None
    """(R, H, D), or None."""
    key_term: str
    """``"neighbour"`` or ``"self"``."""
    dropout: float
    """The probability that a weight is set to zero."""

    @property
    def tables(self) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """The query, key and value tables."""
        return self.query_table, self.key_table, self.value_table

    def to(self, dtype: torch.dtype) -> "AttentionInputs":
        """Return the same inputs with every tensor of type `dtype`."""
        q, k, v = (x.to(dtype) for x in (self.q, self.k, self.v))
        query, key, value = (table if table is None else table.to(dtype) for table in self.tables)
        return self._replace(q=q, k=k, v=v, query_table=query, key_table=key, value_table=value)

"""What follows the attention in the blocks of GT and SAN."""

from torch import Tensor, nn

from grpe_dgl.models.batch_norm import BatchNorm


class PostNorm(nn.Module):
    """Residual branches with batch norm behind them, as in GT and SAN.

    ::

        x = Norm(x + Linear(Dropout(z)))
        x = Norm(x + FFN(x))                FFN = Linear to twice the width, ReLU, Dropout, Linear

    Parameters
    ----------
    width
        Of x and z.
    dropout
        In training only.
    """

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(width, width)
        self.output_norm = BatchNorm(width)
        widen, narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.ffn = nn.Sequential(widen, nn.ReLU(), nn.Dropout(dropout), narrow)
        self.ffn_norm = BatchNorm(width)

    def forward(self, x: Tensor, z: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the new x, (rows, width), for attention's result z of the same shape.

        With `mask`, x and z are padded, (..., width), and rows where it is False count in no statistics.
        """
        x = self.output_norm(x + self.output(self.dropout(z)), mask)
        return self.ffn_norm(x + self.ffn(x), mask)

"""The head of benchmarking-gnns (``MLPReadout``), which GT and SAN use too."""

from torch import nn


class HalvingHead(nn.Sequential):
    """Linear maps from `width` to width // 2, width // 4 and `num_outputs`, with ReLU between them."""

    def __init__(self, width: int, num_outputs: int) -> None:
        half, quarter = width // 2, width // 4
        super().__init__(
            nn.Linear(width, half), nn.ReLU(), nn.Linear(half, quarter), nn.ReLU(), nn.Linear(quarter, num_outputs)
        )

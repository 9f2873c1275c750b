"""Random signs of eigenvectors and singular vectors, whose own sign means nothing."""

import torch
from torch import Tensor


def random_signs(*shape: int, like: Tensor) -> Tensor:
    """Return +1 and -1 with equal probability, of the type and on the device of `like`."""
    return torch.randint(0, 2, shape, device=like.device).to(like.dtype) * 2 - 1

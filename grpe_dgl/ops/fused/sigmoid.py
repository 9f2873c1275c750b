"""The logistic function of a vector of eight numbers."""

from grpe_dgl.kernels.decorator import compiled
from grpe_dgl.ops.fused.exponential import exp
from grpe_dgl.ops.fused.lanes import add, div, inline, maximum, mul, splat, sub, where_negative


@compiled(inner=True)
def sigmoid(x, like):  # type: ignore[no-untyped-def]
    """Return 1 / (1 + e^-x), without overflow; `like` is an array of the same type."""
    inline()
    zero, one = splat(0, like), splat(1, like)
    small = exp(sub(zero, maximum(x, sub(zero, x))))
    share = div(one, add(one, small))
    return where_negative(x, mul(small, share), share)

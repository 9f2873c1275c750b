"""The number of set bits of a 64-bit word, as one instruction."""

from typing import Any

from numba import types
from numba.core.extending import intrinsic


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """Return how many bits of a uint64 are set, as a uint64; called only from other kernels."""
    signature = types.uint64(types.uint64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return signature, generate

"""The exponential function of a vector of eight heads; `math.exp` takes one number at a time."""

import math
from typing import Any

from llvmlite import ir
from numba.core.extending import intrinsic

from grpe_dgl.ops.fused.lanes import LANES, constant, fused_multiply_add

LOG2_E = 1.4426950408889634
# ln 2 in two parts, the first with so few digits that its product with an exponent is exact.
LN_2_HIGH, LN_2_LOW = {}, {}
LN_2_HIGH[32], LN_2_LOW[32] = 0.693359375, -2.12194440054690583e-4
LN_2_HIGH[64], LN_2_LOW[64] = 6.93145751953125e-1, 1.42860682030941723212e-6

# exp(r) = 1 + r + r^2 p(r) for |r| <= ln(2) / 2, highest power of p first: fitted to float32's last bit by the Cephes
# library; for float64 the Taylor series, whose remainder is below 1e-17.
COEFFICIENTS = {
    32: [1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1],
    64: [1.0 / math.factorial(power) for power in range(13, 1, -1)],
}
# Below this the result is 0: the smallest normal number.
LOWEST = {32: -87.33654, 64: -708.3964}
MANTISSA_BITS = {32: 23, 64: 52}


@intrinsic
def exp(typing: Any, x: Any) -> Any:
    """Return e to the power x for x up to 0 (and a little over); NaN for NaN.

    x = n ln 2 + r with n whole; e^x = 2^n e^r, a polynomial in r and n added to its exponent bits.
    """
    bits = x.dtype.bitwidth

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (value,) = arguments
        vector = value.type
        integers = ir.VectorType(ir.IntType(bits), LANES)

        def number(c: float) -> ir.Constant:
            return constant(vector, c)

        # An ordered comparison with NaN is false, so NaN is kept.
        too_low = builder.fcmp_ordered("<", value, number(LOWEST[bits]))
        value = builder.select(too_low, number(LOWEST[bits]), value)
        # Adding 1.5 * 2^mantissa rounds to a whole number, which is then in the lowest bits.
        shift = number(1.5 * 2.0 ** MANTISSA_BITS[bits])
        shifted = fused_multiply_add(builder, value, number(LOG2_E), shift)
        n = builder.fsub(shifted, shift)
        r = fused_multiply_add(builder, n, number(-LN_2_HIGH[bits]), value)
        r = fused_multiply_add(builder, n, number(-LN_2_LOW[bits]), r)
        first, *others = COEFFICIENTS[bits]
        p = number(first)
        for coefficient in others:
            p = fused_multiply_add(builder, p, r, number(coefficient))
        p = fused_multiply_add(builder, p, builder.fmul(r, r), r)
        p = builder.fadd(p, number(1.0))
        exponent = builder.shl(builder.bitcast(shifted, integers), constant(integers, MANTISSA_BITS[bits]))
        bias = constant(integers, ((1 << (bits - 2 - MANTISSA_BITS[bits])) - 1) << MANTISSA_BITS[bits])
        power_of_two = builder.bitcast(builder.add(exponent, bias), vector)
        return builder.select(too_low, number(0.0), builder.fmul(p, power_of_two))

    return x(x), codegen

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["grpe_dgl", "grpe_dgl.nn", "grpe_dgl.ops", "grpe_dgl.ops.completeness"])
def test_numba_is_not_loaded_before_a_kernel_is_needed(module):
    """It takes about as long to load as torch, and neither export nor CUDA needs it."""
    program = f"import sys, {module}; raise SystemExit('numba' in sys.modules or 'llvmlite' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_padded_batches_need_no_numba():
    program = """
import sys, torch
from grpe_dgl.nn import GRPELayer, RelationEncodings
from grpe_dgl.ops import DensePairs
pairs = DensePairs(torch.zeros(2, 3, 3, dtype=torch.int64), torch.ones(2, 3, dtype=torch.bool))
GRPELayer(8, 2, 8)(pairs, torch.randn(2, 3, 8), RelationEncodings(2, 1, 8, 2)()).sum().backward()
raise SystemExit("numba" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)

"""How numba kernels are compiled and run on torch's threads."""

"""Compare finished runs: one table for each dataset, split and metric."""

from grpe_dgl.workflows.compare.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]

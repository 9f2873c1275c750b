"""Search for the best values of a recipe's keys."""

from grpe_dgl.workflows.tune.result import Found
from grpe_dgl.workflows.tune.search import tune
from grpe_dgl.workflows.tune.trial import Trial

__all__ = ["Found", "Trial", "tune"]

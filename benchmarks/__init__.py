"""Ratios measured side by side in one run."""

import grpe_dgl as grpe_dgl  # before any benchmark imports dgl, which needs it on Python 3.12

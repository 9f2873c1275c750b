"""The report on finished runs: one self-contained HTML page."""

from grpe_dgl.workflows.report.page import report

__all__ = ["report"]

"""Graph transformers with relative positional encoding (GRPE) on DGL."""

import os
from typing import TYPE_CHECKING, Any

from grpe_dgl.dgl_import import replace_graphbolt
from grpe_dgl.version import __version__ as __version__

# Before anything imports dgl. Without the first, DGL prints a notice and writes a file into the user's home.
os.environ.setdefault("DGLBACKEND", "pytorch")
replace_graphbolt()

if TYPE_CHECKING:
    from grpe_dgl.inference import load as load
    from grpe_dgl.official import import_official as import_official
    from grpe_dgl.workflows.compare import compare as compare
    from grpe_dgl.workflows.fit import fit as fit
    from grpe_dgl.workflows.report import report as report

_MODULE_OF = {
    "compare": "grpe_dgl.workflows.compare",
    "fit": "grpe_dgl.workflows.fit",
    "import_official": "grpe_dgl.official",
    "load": "grpe_dgl.inference",
    "report": "grpe_dgl.workflows.report",
}


def __getattr__(name: str) -> Any:
    """Import what needs torch on first access, so that importing the package stays fast."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    """Include the names that are imported on first access."""
    return sorted({*globals(), *_MODULE_OF})

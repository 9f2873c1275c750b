"""Import DGL 2 with a torch that its graphbolt was not compiled for.

DGL 2.1 is the first with wheels for Python 3.12. On import it loads ``dgl.graphbolt``, whose compiled part exists for
torch 2.0 to 2.2 alone, and fails with any other torch. Nothing here uses graphbolt, so an empty module takes its place.
"""

import importlib.machinery
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from types import ModuleType

GRAPHBOLT = "dgl.graphbolt"


class _Empty(Loader):
    """Loads nothing into a module."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return None  # an ordinary module

    def exec_module(self, module: ModuleType) -> None:
        pass


class _EmptyGraphbolt(MetaPathFinder):
    """Finds an empty module for ``dgl.graphbolt`` and everything in it, unless it is compiled for this torch."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname == GRAPHBOLT:
            needed = not any(_is_compiled(Path(folder)) for folder in path or ())
        elif fullname.startswith(f"{GRAPHBOLT}."):
            needed = isinstance(getattr(sys.modules.get(GRAPHBOLT), "__loader__", None), _Empty)
        else:
            return None
        return importlib.machinery.ModuleSpec(fullname, _Empty(), is_package=True) if needed else None


def replace_graphbolt() -> None:
    """Make later imports of DGL 2 succeed. DGL 1 has no graphbolt, so there this changes nothing."""
    if not any(isinstance(finder, _EmptyGraphbolt) for finder in sys.meta_path):
        sys.meta_path.insert(0, _EmptyGraphbolt())


def _is_compiled(dgl_folder: Path) -> bool:
    """Whether the DGL in this folder has a graphbolt that is compiled for the installed torch."""
    import torch

    version = torch.__version__.partition("+")[0]
    return any((dgl_folder / "graphbolt").glob(f"*graphbolt_pytorch_{version}.*"))

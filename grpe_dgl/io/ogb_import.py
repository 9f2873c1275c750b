"""Import OGB without the thread that asks the network whether it is outdated."""

import importlib
import sys
from types import ModuleType


def import_ogb(module: str) -> ModuleType:
    """Import a module of OGB, say ``"ogb.graphproppred"``.

    At its first import OGB starts a thread that asks the network for its newest version, if it can import `outdated`.
    That module is hidden for as long as that import takes.
    """
    if "ogb" not in sys.modules:
        known = {name: sys.modules[name] for name in ("outdated",) if name in sys.modules}
        sys.modules["outdated"] = None  # type: ignore[assignment]  # makes `import outdated` an ImportError
        try:
            importlib.import_module("ogb")
        finally:
            del sys.modules["outdated"]
            sys.modules.update(known)
    return importlib.import_module(module)

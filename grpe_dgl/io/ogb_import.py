"""Import OGB without the thread that checks over the network for a newer version."""

import importlib
import sys
from types import ModuleType


def import_ogb(module: str) -> ModuleType:
    """Import a module of OGB, say ``"ogb.graphproppred"``.

    On its first import OGB starts a thread that looks up its newest version, if it can import `outdated`.
    That module is hidden during the import.
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

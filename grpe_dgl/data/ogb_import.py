"""The one place that imports ogb: quietly, and without its question to the network.

On import ogb starts a thread that asks whether a newer ogb is out. It does not where its `outdated` module cannot be
imported, so that module is hidden for as long as the import takes.
"""

import sys
from pathlib import Path

_hide = "ogb" not in sys.modules
_outdated = sys.modules.get("outdated")
if _hide:
    sys.modules["outdated"] = None  # type: ignore[assignment]  # how Python spells "this import fails"
try:
    import ogb
    from ogb.utils.features import allowable_features, get_atom_feature_dims, get_bond_feature_dims
finally:
    if _hide:
        del sys.modules["outdated"]
        if _outdated is not None:
            sys.modules["outdated"] = _outdated

MASTER_CSV = Path(ogb.__file__).parent / "graphproppred" / "master.csv"
"""OGB's own table of its graph datasets: addresses, tasks, metrics."""

__all__ = ["MASTER_CSV", "allowable_features", "get_atom_feature_dims", "get_bond_feature_dims"]

import subprocess
import sys

CHECK = """
import sys, threading
before = threading.active_count()
from grpe_dgl.io.ogb_import import import_ogb
module = import_ogb("ogb.utils.features")
assert module.get_atom_feature_dims()[0] == 119
assert sys.modules["ogb.version"].check_outdated is None
assert "outdated" not in sys.modules
assert threading.active_count() == before
"""


def test_no_thread_asks_the_network():
    subprocess.run([sys.executable, "-W", "error", "-c", CHECK], check=True)

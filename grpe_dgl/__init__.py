"""Graph transformers with relative positional encoding (GRPE) on DGL."""

import os

# Set before anything imports dgl: without it DGL prints a notice and writes a file into the user's home.
os.environ.setdefault("DGLBACKEND", "pytorch")

__version__ = "0.1.0"

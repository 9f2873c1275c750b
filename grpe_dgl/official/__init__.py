"""The authors' released weights as models and checkpoints of ours."""

from grpe_dgl.official.convert import Imported, convert, import_official

__all__ = ["Imported", "convert", "import_official"]

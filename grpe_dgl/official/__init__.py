"""Conversion of the authors' released weights to models and checkpoints of grpe-dgl."""

from grpe_dgl.official.convert import Imported, convert, import_official

__all__ = ["Imported", "convert", "import_official"]

"""GRPE's layers and model, for programs of your own."""

from grpe_dgl.models.grpe.attention import GRPEAttention
from grpe_dgl.models.grpe.encodings import RelationEncodings, Tables
from grpe_dgl.models.grpe.layer import GRPELayer
from grpe_dgl.models.grpe.model import GRPE
from grpe_dgl.models.grpe.settings import PRESETS

__all__ = ["GRPE", "PRESETS", "GRPEAttention", "GRPELayer", "RelationEncodings", "Tables"]

"""The layers and the model."""

from grpe_dgl.nn.attention import GRPEAttention
from grpe_dgl.nn.encodings import RelationEncodings, Tables
from grpe_dgl.nn.layer import GRPELayer
from grpe_dgl.nn.model import GRPE, PRESETS

__all__ = ["GRPE", "PRESETS", "GRPEAttention", "GRPELayer", "RelationEncodings", "Tables"]

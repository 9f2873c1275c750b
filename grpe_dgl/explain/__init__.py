"""Looking into a trained model: which nodes attend to which, and what a prediction is made of."""

from grpe_dgl.explain.explanation import Explanation, explain
from grpe_dgl.explain.maps import AttentionMaps, attention_maps

__all__ = ["AttentionMaps", "Explanation", "attention_maps", "explain"]

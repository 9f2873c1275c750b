"""Using a trained model: predictions and fingerprints, from Python and for whole tables."""

from grpe_dgl.inference.predictor import Predictor, load

__all__ = ["Predictor", "load"]

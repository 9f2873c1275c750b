"""Using a trained model: predictions and fingerprints, from Python and for whole tables."""

from grpe_dgl.inference.load import load
from grpe_dgl.inference.predictor import Predictor
from grpe_dgl.inference.run_predictor import RunPredictor

__all__ = ["Predictor", "RunPredictor", "load"]

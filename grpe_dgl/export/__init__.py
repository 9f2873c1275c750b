"""A trained model as files that run without DGL: ONNX and torch.export."""

from grpe_dgl.export.write import FORMATS, export

__all__ = ["FORMATS", "export"]

"""DeeperGCN: deep residual networks of generalised graph convolutions."""

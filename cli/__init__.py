"""The ``grpe`` command: one thin file per command, installed as ``grpe_dgl_cli``."""

"""Which devices this build of DGL has code for."""

import torch

from grpe_dgl.errors import InputError


def dgl_has(device: torch.device) -> bool:
    """Return whether DGL can hold a graph on a device: its builds on the package index have the CPU alone."""
    if device.type == "cpu":
        return True
    import dgl  # here for start-up time, as below

    return device.type == "cuda" and bool(dgl.ndarray.gpu(device.index or 0).exist)


def require_dgl_device(device: torch.device, what: str = "this batch is a DGLGraph, which") -> None:
    """Raise unless DGL can compute on a device; `what` begins the sentence with what needs it."""
    if not dgl_has(device):
        import dgl

        raise InputError(
            f"{what} needs DGL on {device}, and this DGL ({dgl.__version__}) is built without it; accepted: the device "
            "cpu, a model that takes padded batches (grpe, graphormer, egt, san, gt), or a build of DGL with CUDA"
        )

"""Open a trained model, or all models of a run."""

from pathlib import Path

import torch

from grpe_dgl.inference import predictor
from grpe_dgl.inference.predictor import Predictor
from grpe_dgl.inference.run_predictor import RunPredictor


def load(
    path: str | Path, *, device: str | torch.device = "cpu", backend: str | None = None
) -> Predictor | RunPredictor:
    """Open a checkpoint, or every model of a finished run, for predicting.

    Parameters
    ----------
    path
        A checkpoint, or the folder of a run: its model, or all of its seeds or folds, whose mean is predicted.
    device
        Where the models run.
    backend
        Of a checkpoint's model; see `grpe_dgl.ops.relative_attention`.

    Examples
    --------
    >>> predictor = grpe_dgl.load("runs/esol/best.ckpt")            # doctest: +SKIP
    >>> predictor.predict(["CCO", "c1ccccc1"])                      # doctest: +SKIP
    """
    if Path(path).is_dir():
        return RunPredictor.of_folder(Path(path), device=str(device))
    return predictor.load(path, device=device, backend=backend)

"""Pretraining: an encoder of molecules from SMILES without labels."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grpe_dgl.checkpoint.file import Checkpoint, load_checkpoint
from grpe_dgl.data.dataset import Dataset
from grpe_dgl.data.sources.pretraining import PretrainingRequest
from grpe_dgl.errors import InputError
from grpe_dgl.models.model import GraphModel
from grpe_dgl.recipe import Recipe

MEASURED = ("valid",)
"""The split that a pretrained model is measured on; predicting all training molecules again would take minutes."""


def pretraining_request(
    recipe: Recipe, files: Sequence[Path], *, name: str, smiles: str | None = None
) -> PretrainingRequest:
    """Return how the dataset of a recipe with a section ``pretraining`` is made.

    Parameters
    ----------
    recipe
        Its section ``pretraining`` and its seed decide the dataset.
    files
        Tables of molecules, and folders of tables.
    name
        The dataset's name.
    smiles
        The column of the molecules; None for the usual names.
    """
    section = recipe.pretraining
    if section is None:
        raise InputError("the recipe has no section pretraining, which defines the targets of molecules without labels")
    return PretrainingRequest(
        files=tuple(files),
        smiles=smiles,
        quantile=section.quantile,
        valid=section.valid,
        max_nodes=section.max_nodes,
        seed=recipe.training.seed,
        name=name,
    )


def pretraining_provenance(data: Dataset) -> Callable[[GraphModel], dict[str, Any]]:
    """Return the `start` of `grpe_dgl.workflows.experiment.run_experiment`: it records the data, and sets no weights.

    The limits that the targets were clipped to are recorded, so that a file of the model has its whole scaling: limits
    here, mean and deviation in its schema.
    """
    labels = data.store.label
    low, high = np.full((2, labels.shape[1]), np.nan)
    for first in range(0, len(labels), 1 << 16):
        part = np.asarray(labels[first : first + (1 << 16)], np.float64)
        low, high = np.fmin(low, np.fmin.reduce(part)), np.fmax(high, np.fmax.reduce(part))
    provenance = {
        "pretrained_on": data.manifest.origin,
        "settings": dict(data.manifest.settings),
        "limits": {name: [float(a), float(b)] for name, a, b in zip(data.task.targets, low, high, strict=True)},
    }
    return lambda model: provenance


def save_pretrained(run_folder: Path, out: Path) -> Checkpoint:
    """Write the best model of a pretraining run to a file of its own, and return it."""
    checkpoint = dataclasses.replace(load_checkpoint(run_folder / "best.ckpt"), training=None)
    checkpoint.save(out)
    return checkpoint

"""Transfer weights from one model to another, matched by meaning."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grpe_dgl.checkpoint.file import Checkpoint
from grpe_dgl.errors import InputError
from grpe_dgl.families import ModelSettings
from grpe_dgl.messages import counted
from grpe_dgl.models.model import GraphModel
from grpe_dgl.pretrained import model_file
from grpe_dgl.schema import Schema


@dataclass(frozen=True)
class Transferred:
    """The result of a transfer."""

    numbers: int
    """How many weights were transferred."""
    fresh: list[str] = field(default_factory=list)
    """What starts as in a new model."""
    left: list[str] = field(default_factory=list)
    """What the new model has no place for."""


def require_transferable(
    source: Checkpoint, settings: ModelSettings, schema: Schema, *, what: str, target: str, transfer: str = "all"
) -> None:
    """Raise an InputError that names both sides unless a checkpoint's weights fit a model for other data.

    Parameters
    ----------
    source
        The checkpoint.
    settings, schema
        The new model and its data.
    what, target
        Name the checkpoint and the new data in the error.
    transfer
        The recipe's ``training.transfer``; only ``"all"`` needs data of the same vocabulary.
    """
    if transfer == "all":
        try:
            source.schema.require_same_input(schema, what=target, model=what)
        except InputError as error:
            raise InputError(str(error), hint="transfer_transformer") from None
    old = source.recipe.model
    if old.NAME != settings.NAME:
        raise InputError(f"model.name is {old.NAME} in {what}, {settings.NAME} was asked for; accepted: the same")
    settings.require_transfer_from(old, what=what)


def transfer_weights(
    source: Checkpoint, model: GraphModel, settings: ModelSettings, transfer: str = "all"
) -> Transferred:
    """Put a checkpoint's weights into a model for which `require_transferable` passed.

    All but the head's; with `transfer` ``"transformer"`` also without the embeddings of nodes and edges, which start as
    in a new model.
    """
    weights = model.state_dict()
    used: set[str] = set()
    transferred, fresh = 0, [_head(model)]
    new_embeddings = [name for name in weights if transfer == "transformer" and model.is_embedding(name)]
    if new_embeddings:
        fresh.append(f"embeddings of nodes and edges ({counted(len(new_embeddings), 'tensor')})")
    for name, tensor in weights.items():
        if name.startswith(model.head_prefix) or name in new_embeddings:
            continue
        match = model.weight_source(name, source.recipe.model, settings)
        if match.key not in source.weights:
            fresh.append(name)
            continue
        used.add(match.key)
        theirs = source.weights[match.key].to(tensor.dtype)
        if match.old_rows is not None:
            tensor[match.new_rows] = theirs[match.old_rows]
            transferred += theirs[match.old_rows].numel()
        elif theirs.shape != tensor.shape:
            raise InputError(f"{name} has shape {tuple(theirs.shape)} in the checkpoint, {tuple(tensor.shape)} here")
        else:
            weights[name] = theirs
            transferred += theirs.numel()
    model.load_state_dict(weights)
    left = [name for name in source.weights if name not in used and not name.startswith(model.head_prefix)]
    old_embeddings = [name for name in left if transfer == "transformer" and model.is_embedding(name)]
    left = [name for name in left if name not in old_embeddings]
    if old_embeddings:
        left.append(f"its embeddings of nodes and edges ({counted(len(old_embeddings), 'tensor')})")
    fresh_rows, left_rows = model.transfer_notes(source.recipe.model, settings)
    return Transferred(transferred, fresh + fresh_rows, left + left_rows)


def _head(model: GraphModel) -> str:
    """Return the head with the output width of each of its linear maps."""
    widths = [
        str(len(tensor))
        for name, tensor in model.state_dict().items()
        if name.startswith(model.head_prefix) and tensor.dim() == 2
    ]
    return f"head ({', '.join(widths)} wide)"


def provenance_of(source: Checkpoint, path: Path, transferred: Transferred) -> dict[str, Any]:
    """Return where a fine-tuned model comes from, in plain values for its checkpoint."""
    return {
        "started_from": str(path),
        "sha256": hashlib.sha256(model_file(path).read_bytes()).hexdigest(),
        "dataset": source.schema.name,
        "recipe": source.recipe.description,
        "metrics": dict(source.metrics),
        "fresh": list(transferred.fresh),
        "left": list(transferred.left),
        "provenance": dict(source.provenance),
    }

"""Start a model from another's weights, matched by what they mean."""

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from grpe_dgl.checkpoint.file import Checkpoint
from grpe_dgl.data.description import Description
from grpe_dgl.errors import InputError
from grpe_dgl.nn import GRPE
from grpe_dgl.recipe import ModelRecipe
from grpe_dgl.relations import Relations

_SIZES = ("layers", "hidden_size", "ffn_size", "num_heads")
_TABLE = re.compile(r"encodings\.(\d+)\.(query|key|value)_(spd|edge)\.weight")
HEAD = "head."


@dataclass(frozen=True)
class Transferred:
    """What became of a checkpoint's weights."""

    numbers: int
    """How many weights were carried over."""
    fresh: list[str] = field(default_factory=list)
    """What starts as a new model does."""
    left: list[str] = field(default_factory=list)
    """What the new model has no place for."""


def require_fits(source: Checkpoint, model: ModelRecipe, description: Description, *, what: str, target: str) -> None:
    """Raise an InputError that names both sides unless a checkpoint's weights fit a model for other data.

    Parameters
    ----------
    source
        The checkpoint.
    model, description
        The new model and its data.
    what, target
        Name the checkpoint and the new data in the error.
    """
    source.description.require_same_input(description, what=target, model=what)
    for key in _SIZES:
        theirs, ours = getattr(source.recipe.model, key), getattr(model, key)
        if theirs != ours:
            raise InputError(f"model.{key} is {theirs} in {what}, {ours} was asked for; accepted: the same")
    if model.share_encodings and not source.recipe.model.share_encodings:
        raise InputError(
            f"model.share_encodings is false in {what}, true was asked for; accepted: false, as tables of several "
            "layers do not become one"
        )


def transfer_weights(source: Checkpoint, model: GRPE, recipe: ModelRecipe) -> Transferred:
    """Put a checkpoint's weights, all but the head's, into a model for which `require_fits` passed.

    Rows of the distance tables are matched by distance: with another max_distance the common ones, and those for
    far, unreachable and virtual, carry over; others keep what a new model has. Tables that were shared by all layers
    become every layer's own where the new model does not share them.
    """
    weights = model.state_dict()
    old, new = source.recipe.model, recipe
    used: set[str] = set()
    carried, fresh = 0, [f"head ({', '.join(map(str, [*new.head_sizes, model.head[-1].out_features]))} wide)"]
    rows_old, rows_new = _common_distances(old.max_distance, new.max_distance)
    for name, tensor in weights.items():
        if name.startswith(HEAD):
            continue
        table = _TABLE.fullmatch(name)
        key = name
        if table is not None and old.share_encodings:
            key = f"encodings.0.{table[2]}_{table[3]}.weight"
        if key not in source.weights:
            fresh.append(name)
            continue
        used.add(key)
        theirs = source.weights[key].to(tensor.dtype)
        if table is not None and table[3] == "spd":
            tensor[rows_new] = theirs[rows_old]
            carried += theirs[rows_old].numel()
        elif theirs.shape != tensor.shape:
            raise InputError(f"{name} has shape {tuple(theirs.shape)} in the checkpoint, {tuple(tensor.shape)} here")
        else:
            weights[name] = theirs
            carried += theirs.numel()
    model.load_state_dict(weights)
    if new.max_distance > old.max_distance:
        fresh.append(f"{_distances(old.max_distance, new.max_distance)} in every table")
    left = [name for name in source.weights if name not in used and not name.startswith(HEAD)]
    if new.max_distance < old.max_distance:
        left.append(f"{_distances(new.max_distance, old.max_distance)} in every table")
    return Transferred(carried, fresh, left)


def freeze_encoder(model: GRPE) -> None:
    """Let only the head be trained."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith(HEAD))


def provenance_of(source: Checkpoint, path: Path, carried: Transferred) -> dict[str, Any]:
    """Return where a fine-tuned model comes from, in plain values for its checkpoint."""
    return {
        "started_from": str(path),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "dataset": source.description.name,
        "recipe": source.recipe.description,
        "metrics": dict(source.metrics),
        "fresh": list(carried.fresh),
        "left": list(carried.left),
        "provenance": dict(source.provenance),
    }


def _common_distances(old: int, new: int) -> tuple[Tensor, Tensor]:
    """Return the rows of tables with max_distance `old` and `new` that mean the same."""
    common = torch.arange(min(old, new) + 1)
    rows = []
    for max_distance in (old, new):
        codes = Relations(max_distance, 1)
        rest = torch.tensor([codes.spd_far, codes.spd_unreachable, codes.spd_virtual])
        rows.append(torch.cat([common, rest]))
    return rows[0], rows[1]


def _distances(above: int, last: int) -> str:
    return f"distance {last}" if last == above + 1 else f"distances {above + 1} to {last}"

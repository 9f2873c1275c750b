"""Check the content of a checkpoint file against its own recipe and schema, before a model is built from it."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from grpe_dgl.checkpoint.build import build_model, freeze_encoder
from grpe_dgl.checkpoint.without_storage import without_storage
from grpe_dgl.errors import InputError
from grpe_dgl.messages import short
from grpe_dgl.models.model import GraphModel
from grpe_dgl.recipe import Recipe
from grpe_dgl.schema import Schema

MOST_VALUES, MOST_LEVELS = 2_000_000, 50  # of a whole checkpoint; an epoch of its history takes about fifteen values
_PLAIN = (str, int, float, bool, type(None))


def content_checksum(recipe: Mapping[str, Any], schema: Mapping[str, Any], weights: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 of what decides a model's predictions: recipe, schema and weights, as a file holds them."""
    digest = hashlib.sha256(json.dumps([recipe, schema], sort_keys=True).encode())
    for name, tensor in sorted(weights.items()):
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def check_plain(content: object, *, tensors: bool = True) -> None:
    """Raise unless everything is plain values, and tensors if `tensors`, in lists, tuples and dicts of bounded size."""
    values, level = [content], 0
    count = 0
    while values:
        inside: list[object] = []
        for value in values:
            if isinstance(value, dict):
                inside += value.values()
                if not all(type(key) in (str, int) for key in value):
                    raise InputError("it has a key that is neither a text nor a number")
            elif isinstance(value, (list, tuple)):
                inside += value
            elif isinstance(value, Tensor):
                if not tensors or value.layout != torch.strided:
                    raise InputError("it has a tensor where none belongs")
            elif type(value) not in _PLAIN:
                raise InputError(f"it has a value of type {type(value).__name__}")
            if count + len(inside) > MOST_VALUES:
                raise InputError(f"it has more than {MOST_VALUES:,} values")
        count += len(inside)
        values, level = inside, level + 1
        if level > MOST_LEVELS:
            raise InputError(f"its values are nested more than {MOST_LEVELS} levels deep")


def check_weights(weights: object, recipe: Recipe, schema: Schema) -> GraphModel:
    """Raise unless `weights` has the names, shapes and types of the model's tensors; return the model without storage.

    The model is built on torch's device ``meta``, so that a file cannot make its reader allocate anything.
    """
    with without_storage():
        model = build_model(recipe.model, schema)
    if not isinstance(weights, dict):
        raise InputError(f"its weights are {short(weights)}; expected tensors by name")
    wrong = "the weights are not those of the recipe beside them:"
    expected = model.state_dict()
    for name in (*expected.keys() - weights.keys(), *weights.keys() - expected.keys()):
        raise InputError(f"{wrong} {name} is {'missing' if name in expected else 'not in the model'}")
    precision = _precision(weights)
    for name, tensor in expected.items():
        found = weights[name]
        if not isinstance(found, Tensor):
            raise InputError(f"{wrong} {name} is {short(found)}, not a tensor")
        wanted = precision if tensor.is_floating_point() else tensor.dtype
        if found.shape != tensor.shape or found.dtype != wanted:
            raise InputError(
                f"{wrong} {name} is {tuple(found.shape)} {found.dtype}, expected {tuple(tensor.shape)} {wanted}"
            )
    return model


def _precision(weights: dict[str, Any]) -> torch.dtype:
    """Return the one floating type that all weights have, else float32; the authors' weights may be float64."""
    found = {tensor.dtype for tensor in weights.values() if isinstance(tensor, Tensor) and tensor.is_floating_point()}
    return found.pop() if len(found) == 1 else torch.float32


def check_training(training: object, recipe: Recipe, model: GraphModel) -> None:
    """Raise unless `training` is what resuming takes: the optimiser's state, a history, sums and random states."""
    keys = ("optimizer", "update", "history", "sums", "random")
    if not isinstance(training, dict) or not all(key in training for key in keys):
        raise InputError(f"what it needs to resume is incomplete; expected {', '.join(keys)}")
    if recipe.training.freeze_encoder:
        freeze_encoder(model)
    shapes = [tuple(parameter.shape) for parameter in model.parameters() if parameter.requires_grad]
    _check_optimizer(training["optimizer"], shapes)
    if type(training["update"]) is not int or not 0 <= training["update"] < 1 << 60:
        raise InputError(f"update is {short(training['update'])}; expected a count")
    _check_history(training["history"], recipe)
    sums = training["sums"]
    if (
        not isinstance(sums, dict)
        or sums.keys() != {"loss", "weight", "seconds"}
        or not isinstance(sums["seconds"], dict)
        or not all(map(_is_number, (sums["loss"], sums["weight"], *sums["seconds"].values())))
    ):
        raise InputError(f"sums is {short(sums)}; expected loss, weight and seconds")
    for state in training["random"] if isinstance(training["random"], list) else [None]:
        if not isinstance(state, Tensor) or state.dtype != torch.uint8 or state.dim() != 1:
            raise InputError("random is not a list of states of random generators")
        if len(state) < len(torch.get_rng_state()):
            raise InputError(f"a state of a random generator has {len(state)} bytes, too few")


def _check_optimizer(state: object, shapes: list[tuple[int, ...]]) -> None:
    if not isinstance(state, dict) or not isinstance(state.get("state"), dict):
        raise InputError("optimizer is not an optimiser's state")
    groups = state.get("param_groups")
    if not isinstance(groups, list) or len(groups) != 1 or not isinstance(groups[0], dict):
        raise InputError("optimizer has no param_groups")
    params = groups[0].get("params")
    if not isinstance(params, list) or not _are_plain(params) or params != list(range(len(shapes))):
        raise InputError(f"optimizer has other parameters than the {len(shapes)} that are trained")
    usual = torch.optim.AdamW([torch.zeros(1)]).param_groups[0]
    for key, value in groups[0].items():
        if key != "params" and (key not in usual or not _is_like(value, usual[key])):
            raise InputError(f"optimizer has {short(key)} = {short(value)}")
    for index, tensors in state["state"].items():
        if type(index) is not int or not 0 <= index < len(shapes) or not isinstance(tensors, dict):
            raise InputError(f"optimizer has a state for parameter {short(index)}, of {len(shapes)}")
        if tensors.keys() != {"step", "exp_avg", "exp_avg_sq"}:
            raise InputError(f"optimizer has {short(sorted(map(str, tensors)))} for parameter {index}")
        for name, tensor in tensors.items():
            shape = () if name == "step" else shapes[index]
            if not isinstance(tensor, Tensor) or not tensor.is_floating_point() or tuple(tensor.shape) != shape:
                found = tuple(tensor.shape) if isinstance(tensor, Tensor) else short(tensor)
                raise InputError(f"optimizer has {name} {found} for parameter {index}, expected {shape}")


def _check_history(history: object, recipe: Recipe) -> None:
    if not isinstance(history, list) or not all(isinstance(row, dict) for row in history):
        raise InputError("history is not a list of epochs")
    metric = recipe.training.metric
    for row in history:
        expected = {"epoch", "updates", "learning_rate", "train_loss", f"valid_{metric}"}
        if row.keys() != history[0].keys() or not expected <= row.keys():
            raise InputError(f"history has an epoch with {short(sorted(map(str, row)))}")
        for key, value in row.items():
            if not (_is_number(value) or (value is None and not key.startswith(("seconds", "epoch", "updates")))):
                raise InputError(f"history has an epoch with {short(key)} = {short(value)}")


def check_notes(metrics: object, provenance: object) -> None:
    """Raise unless metrics and provenance, which are shown and nothing else, can be shown."""
    if not isinstance(metrics, dict) or not all(isinstance(key, str) for key in metrics):
        raise InputError(f"its metrics are {short(metrics)}; expected numbers by name")
    inner = provenance
    while True:
        if not isinstance(inner, dict) or not all(isinstance(key, str) for key in inner):
            raise InputError(f"its provenance is {short(inner)}; expected values by name")
        lists = [inner.get(key, []) for key in ("zero_started", "fresh", "left")]
        if not all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in lists):
            raise InputError("its provenance lists what is not text")
        if not inner:
            return
        inner = inner.get("provenance", {})


def _are_plain(values: list[Any]) -> bool:
    return all(type(value) in _PLAIN for value in values)


def _is_number(value: object) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < 1 << 63)


def _is_like(value: object, usual: object) -> bool:
    """Whether a setting of an optimiser has the type of the usual one, and is a number that torch takes."""
    if isinstance(usual, tuple):
        return isinstance(value, (list, tuple)) and len(value) == len(usual) and all(map(_is_share, value))
    if usual is None or isinstance(usual, bool):
        return value is None or isinstance(value, bool)
    return _is_number(value) and 0 <= float(value) < float("inf")  # type: ignore[arg-type]


def _is_share(value: object) -> bool:
    return _is_number(value) and 0 <= float(value) < 1  # type: ignore[arg-type]

"""Convert a file of the authors' weights to a checkpoint."""

import dataclasses
import hashlib
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from grpe_dgl.checkpoint.file import Checkpoint
from grpe_dgl.data.catalogue import find, schema_of
from grpe_dgl.errors import InputError
from grpe_dgl.io.safe_load import NOT_TORCH, load_tensors
from grpe_dgl.models.grpe.settings import GRPESettings
from grpe_dgl.official.convert import Imported, convert
from grpe_dgl.recipe import Recipe, load_recipe, shipped_recipes
from grpe_dgl.schema import Schema

WRAPPERS = ("state_dict", "model_state_dict", "model", "state")  # keys under which people keep a state dict


def import_file(path: str | Path, *, num_heads: int, dataset: str) -> tuple[Checkpoint, Imported]:
    """Read the authors' weights and return them as a checkpoint, with the details of the conversion.

    Parameters
    ----------
    path
        A file of `torch.save`: a state dict, or a dict that holds one; no code in it runs.
    num_heads
        Of the model.
    dataset
        The dataset it was trained on, which determines the vocabulary and the task.
    """
    path = Path(path)
    dataset, _ = find(dataset)
    schema = _schema(dataset)
    state = _state_dict(path)
    try:
        imported = convert(state, num_heads=num_heads, dataset=dataset)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    outputs = imported.shapes.num_outputs
    if outputs != schema.task.num_outputs:
        raise InputError(
            f"{path} has {outputs} outputs, but {schema.name} needs {schema.task.num_outputs}; accepted: the "
            "dataset the model was trained on"
        )
    checkpoint = Checkpoint(
        recipe=_recipe(imported, dataset, schema, num_heads),
        schema=schema,
        weights=imported.model.state_dict(),
        provenance={
            "imported_from": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "zero_started": imported.zero_started,
        },
    )
    return checkpoint, imported


def _state_dict(path: Path) -> Mapping[str, Any]:
    accepted = "accepted: a state dict of the authors' model, saved by torch"
    try:
        content = load_tensors(path)
    except InputError:
        raise
    except NOT_TORCH as error:
        # torch's message advises to switch the check off; only the name of the refused object is taken from it.
        refused = re.search(r"GLOBAL (\S+)", str(error))
        if isinstance(error, pickle.UnpicklingError) and refused:
            raise InputError(
                f"{path} holds more than tensors ({refused[1]}) and is not loaded, as it could run code; {accepted}"
            ) from None
        raise InputError(f"{path} is not a file of torch, or it is damaged; {accepted}") from None
    if isinstance(content, Mapping) and "recipe" in content and "weights" in content:
        raise InputError(f"{path} is a checkpoint of grpe-dgl already; {accepted}")
    if isinstance(content, Mapping):
        for key in WRAPPERS:
            inside = content.get(key)
            if isinstance(inside, Mapping) and any("linear_q" in str(name) for name in inside):
                return inside
    if not isinstance(content, Mapping) or not any("linear_q" in str(name) for name in content):
        raise InputError(f"{path} has no key like layers.0.self_attention.linear_q.weight; {accepted}")
    return content


def _schema(dataset: str) -> Schema:
    """Return the schema of a dataset; the authors' models predict in the targets' own unit."""
    schema = schema_of(dataset)
    return dataclasses.replace(schema, task=dataclasses.replace(schema.task, standardise=False))


def _recipe(imported: Imported, dataset: str, schema: Schema, num_heads: int) -> Recipe:
    """Return the dataset's recipe with the model that the weights are of."""
    name = dataset if dataset in shipped_recipes() else "property"
    base = load_recipe(name)
    shapes = imported.shapes
    model = dataclasses.replace(
        cast(GRPESettings, base.model),
        layers=shapes.layers,
        hidden_size=shapes.hidden_size,
        ffn_size=shapes.ffn_size,
        num_heads=num_heads,
        max_distance=shapes.max_hop - 1,
        topology_attention=True,
        edge_attention=True,
        graph_value=True,
        share_encodings=shapes.shared,
        key_term="self",
        head_sizes=shapes.head_sizes,
    )
    recipe = dataclasses.replace(
        base,
        description=f"the authors' weights for {dataset}",
        dataset=dataset,
        start_from=None,
        model=model,
        paper=None,
        variants={},
    )
    return recipe.fit_to_task(schema.task)

"""From the model section of a recipe and a dataset's description to the model."""

import dataclasses
from collections.abc import Sequence

from grpe_dgl.data.description import Description
from grpe_dgl.data.sources.source import Task
from grpe_dgl.nn import GRPE
from grpe_dgl.recipe.training import ModelRecipe


def build_model(
    model: ModelRecipe,
    *,
    task: Task,
    node_vocabulary: Sequence[int] | None,
    node_features: int | None,
    num_edge_types: int,
    backend: str | None = None,
) -> GRPE:
    """Build the model of a recipe for a dataset.

    Parameters
    ----------
    model
        The recipe's model section.
    task, node_vocabulary, node_features, num_edge_types
        What the dataset says of itself; see `grpe_dgl.data.sources.source.Source`.
    backend
        See `grpe_dgl.ops.relative_attention`; None takes the model's default. It changes no number, so it is no part of
        the recipe.
    """
    arguments = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
    if backend is not None:
        arguments["backend"] = backend
    return GRPE(
        **arguments,
        num_outputs=task.num_outputs,
        level=task.level,
        node_vocabulary=node_vocabulary,
        node_features=node_features,
        num_edge_types=num_edge_types,
    )


def build_for(model: ModelRecipe, description: Description, *, backend: str | None = None) -> GRPE:
    """Build the model of a recipe for the data that `description` describes; see `build_model`."""
    return build_model(
        model,
        task=description.task,
        node_vocabulary=description.node_vocabulary,
        node_features=description.node_features,
        num_edge_types=description.num_edge_types,
        backend=backend,
    )

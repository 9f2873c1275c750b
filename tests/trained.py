"""Checkpoints of small models that were never trained: enough for everything that uses one."""

import torch

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.checkpoint.file import Checkpoint
from grpe_dgl.data.description import Description
from grpe_dgl.data.molecules.columns import ATOM_COLUMNS, NUM_BOND_TYPES
from grpe_dgl.data.sources.source import Task
from grpe_dgl.recipe import load_recipe

REGRESSION = Task(level="graph", kind="regression", targets=("logS",), metric="rmse", standardise=True)
BINARY = Task(level="graph", kind="binary", targets=("toxic", "soluble"), metric="rocauc")
CLASSES = Task(
    level="graph", kind="multiclass", targets=("colour",), classes=("red", "green", "blue"), metric="accuracy"
)
SIZES = {"model.layers": 3, "model.hidden_size": 16, "model.ffn_size": 24, "model.num_heads": 4}


def molecule_description(task=REGRESSION, name="own"):
    standardised = task.standardise
    return Description(
        name=name,
        task=task,
        vocabulary="ogb",
        node_vocabulary=ATOM_COLUMNS,
        node_features=None,
        num_edge_types=NUM_BOND_TYPES,
        undirected=True,
        target_mean=(-3.0,) if standardised else None,
        target_deviation=(2.0,) if standardised else None,
    )


def checkpoint(task=REGRESSION, *, description=None, seed=0, overrides=(), provenance=()):
    description = description or molecule_description(task)
    recipe = load_recipe("property", {**SIZES, **dict(overrides)}).override({"dataset": description.name})
    recipe = recipe.fit_to_task(description.task)
    torch.manual_seed(seed)
    model = build_model(
        recipe.model,
        task=description.task,
        node_vocabulary=description.node_vocabulary,
        node_features=description.node_features,
        num_edge_types=description.num_edge_types,
    )
    torch.nn.init.normal_(model.virtual_node)
    return Checkpoint(
        recipe=recipe,
        description=description,
        weights=model.state_dict(),
        metrics={"epoch": 3, "valid_rmse": 0.5},
        provenance=dict(provenance),
    )


def save(path, *arguments, **options):
    checkpoint(*arguments, **options).save(path)
    return path

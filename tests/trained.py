"""Checkpoints of small models that were never trained: enough for everything that uses one."""

import torch

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.checkpoint.file import Checkpoint
from grpe_dgl.recipe import Recipe, load_recipe
from grpe_dgl.schema import Task, known_schema

REGRESSION = Task(level="graph", kind="regression", targets=("logS",), metric="rmse", standardise=True)
BINARY = Task(level="graph", kind="binary", targets=("toxic", "soluble"), metric="rocauc")
CLASSES = Task(
    level="graph", kind="multiclass", targets=("colour",), classes=("red", "green", "blue"), metric="accuracy"
)
PLAIN = {"model.head_sizes": [], "model.descriptors": None}
SIZES = {**PLAIN, "model.layers": 3, "model.hidden_size": 16, "model.ffn_size": 24, "model.num_heads": 4}


def molecule_schema(task=REGRESSION, name="own"):
    schema = known_schema("ogb", name=name, task=task)
    return schema.with_target_statistics((-3.0,), (2.0,)) if task.standardise else schema


def checkpoint(task=REGRESSION, *, schema=None, seed=0, overrides=(), provenance=()):
    schema = schema or molecule_schema(task)
    recipe = load_recipe("property", {**SIZES, **dict(overrides)}).override({"dataset": schema.name})
    recipe = recipe.fit_to_task(schema.task)
    torch.manual_seed(seed)
    model = build_model(recipe.model, schema)
    torch.nn.init.normal_(model.virtual_node)
    return Checkpoint(
        recipe=recipe,
        schema=schema,
        weights=model.state_dict(),
        metrics={"epoch": 3, "valid_rmse": 0.5},
        provenance=dict(provenance),
    )


def checkpoint_of(model, task=REGRESSION, *, seed=0):
    """A checkpoint of molecules whose model section is given: any family."""
    schema = molecule_schema(task)
    recipe = Recipe.from_dict(
        {"dataset": schema.name, "model": model, "training": {"batch_size": 4, "epochs": 1}}
    ).fit_to_task(schema.task)
    torch.manual_seed(seed)
    return Checkpoint(recipe=recipe, schema=schema, weights=build_model(recipe.model, schema).state_dict())


def save(path, *arguments, **options):
    checkpoint(*arguments, **options).save(path)
    return path

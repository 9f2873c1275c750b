"""The search space of a recipe that has none: per family, values around those of the recipe."""

import dataclasses

from grpe_dgl.errors import InputError
from grpe_dgl.recipe import Recipe
from grpe_dgl.recipe.search import Choice, Range, Space, Value, read_space

DROPOUT = Range(0.0, 0.5, 0.05)
SIZES = ("hidden_size", "ffn_size", "edge_size")
DEPTHS = ("layers",)
SHARES = ("dropout", "attention_dropout", "input_dropout")
OF_FAMILY: dict[str, dict[str, tuple[Value, ...]]] = {
    "grpe": {"max_distance": (2, 3, 5, 8)},
    "graphormer": {"path_edges": (0, 5, 20)},
    "gin": {"readout": ("sum", "mean")},
    "gcn": {"readout": ("sum", "mean")},
    "gat": {"readout": ("sum", "mean")},
    "gatedgcn": {"readout": ("sum", "mean")},
    "ogb_gin": {"virtual_node": (False, True), "readout": ("mean", "sum")},
    "ogb_gcn": {"virtual_node": (False, True), "readout": ("mean", "sum")},
    "gine": {"radius": (1, 2, 3)},
    "deepergcn": {"aggregation": ("softmax", "max", "mean"), "virtual_node": (False, True)},
    "gt": {"laplacian_size": (4, 8, 16)},
}
"""What is specific to a family, beside the sizes and the dropout that it has."""


def search_space(recipe: Recipe) -> Space:
    """Return the space of a recipe's section ``search``, or where it has none the default of its family.

    The default is around the recipe's own values: half to twice the layers and sizes, a fifth to five times the rate,
    half to four times the batch, dropout, weight decay and what is specific to the family. A model that starts
    from trained weights keeps its shape. Values that the family does not accept are left out.
    """
    if recipe.search:
        space = read_space(recipe.search)
        for key, entry in space.items():
            edges = entry.values if isinstance(entry, Choice) else (entry.low, entry.high)
            for value in edges:
                _require_accepted(recipe, key, value, alone=len(space) == 1)
        return space
    own = {field.name: getattr(recipe.model, field.name) for field in dataclasses.fields(recipe.model)}
    space = {}
    if recipe.start_from is None:
        for key in (key for key in DEPTHS if key in own):
            space[f"model.{key}"] = Range(max(1, own[key] // 2), 2 * own[key])
        choices = {key: (own[key] // 2, own[key], 2 * own[key]) for key in SIZES if isinstance(own.get(key), int)}
        for key, values in {**choices, **OF_FAMILY.get(recipe.model.NAME, {})}.items():
            accepted = tuple(value for value in dict.fromkeys(values) if _is_accepted(recipe, f"model.{key}", value))
            if len(accepted) > 1:
                space[f"model.{key}"] = Choice(accepted)
    space |= {f"model.{key}": DROPOUT for key in SHARES if key in own}
    rate, size = recipe.training.learning_rate, recipe.training.batch_size
    space["training.learning_rate"] = Range(max(rate / 5, recipe.training.final_learning_rate), rate * 5, log=True)
    space["training.weight_decay"] = Range(1e-6, 1e-1, log=True)
    space["training.batch_size"] = Choice(tuple(dict.fromkeys((max(1, size // 2), size, 2 * size, 4 * size))))
    return space


def _require_accepted(recipe: Recipe, key: str, value: Value | float, *, alone: bool) -> None:
    """Raise if a recipe cannot have a key; a value that only fits together with others is left to its trial."""
    section, name = key.split(".")
    if name not in {field.name for field in dataclasses.fields(getattr(recipe, section))}:
        recipe.override({key: value})  # raises with the nearest key
    if alone:
        recipe.override({key: value})


def _is_accepted(recipe: Recipe, key: str, value: Value) -> bool:
    try:
        recipe.override({key: value})
    except InputError:
        return False
    return True

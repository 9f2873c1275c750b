"""How many parameters a recipe's model has, without building it."""

from collections.abc import Sequence

from grpe_dgl.recipe.training import ModelRecipe

OGB_ATOMS = (119, 5, 12, 12, 10, 6, 6, 2, 2)
# What decides the size of a model beside the recipe: values per node column, edge types, outputs. "molecules" is a
# dataset of molecules with one target, which stands for those of recipes that fit any.
DATASETS: dict[str, tuple[tuple[int, ...], int, int]] = {
    "zinc": ((28,), 4, 1),
    "pattern": ((3,), 1, 2),
    "cluster": ((7,), 1, 6),
    "molhiv": (OGB_ATOMS, 60, 1),
    "molpcba": (OGB_ATOMS, 60, 128),
    "pcqm4m": (OGB_ATOMS, 60, 1),
    "pcqm4mv2": (OGB_ATOMS, 60, 1),
    "molecules": (OGB_ATOMS, 60, 1),
}


def count_parameters(
    model: ModelRecipe,
    *,
    num_outputs: int,
    node_vocabulary: Sequence[int] | None,
    num_edge_types: int,
    node_features: int | None = None,
) -> int:
    """Return what ``sum(p.numel() for p in build_model(...).parameters())`` would.

    The arguments are those of `grpe_dgl.checkpoint.build.build_model`.
    """
    width, ffn = model.hidden_size, model.ffn_size
    if node_vocabulary is not None:
        nodes = sum(node_vocabulary) * width
    else:
        nodes = ((node_features or 0) + 1) * width
    distances, edges = model.max_distance + 4, num_edge_types + 3  # the rows of P and E
    rows = (2 * model.topology_attention + model.graph_value) * distances
    rows += (2 * model.edge_attention + model.graph_value) * edges
    encodings = rows * width * (1 if model.share_encodings else model.layers)
    attention = 4 * (width * width + width)
    feed_forward = 2 * width * ffn + width + ffn
    layer = attention + feed_forward + 2 * 2 * width  # two norms
    sizes = [width, *model.head_sizes, num_outputs]
    head = sum(a * b + b for a, b in zip(sizes, sizes[1:], strict=False))
    return nodes + width + encodings + model.layers * layer + 2 * width + head  # virtual node, final norm


def count_for_dataset(model: ModelRecipe, dataset: str | None) -> int | None:
    """Return the count for one of the paper's datasets, for molecules with one target if None, None if unknown."""
    known = DATASETS.get(dataset or "molecules")
    if known is None:
        return None
    node_vocabulary, num_edge_types, num_outputs = known
    return count_parameters(
        model, num_outputs=num_outputs, node_vocabulary=node_vocabulary, num_edge_types=num_edge_types
    )

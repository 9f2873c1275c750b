"""Convert the authors' state dict to a `GRPE` with the same predictions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grpe_dgl.data.catalogue import schema_of
from grpe_dgl.errors import InputError
from grpe_dgl.models.grpe.model import GRPE
from grpe_dgl.official.shapes import EDGE_ROWS_BESIDE_CODES, HOP_ROWS_BESIDE_EXACT, Shapes, read_shapes, strip_prefix
from grpe_dgl.official.vocabulary import Vocabulary, guess_vocabulary, known_vocabulary

NOWHERE = -1


@dataclass(frozen=True)
class Part:
    """Rows of one of our tensors: those of one of the authors' tensors, in the given order."""

    key: str
    rows: Tensor | None = None
    """(rows of ours,) int64, `NOWHERE` for a row that starts at zero; None takes all of theirs as they are."""
    count: int | None = None
    """With `rows`: how many rows theirs must have."""

    def take(self, state: Mapping[str, Tensor]) -> Tensor:
        """Return our rows."""
        theirs = state[self.key]
        if self.rows is None:
            return theirs
        ours = theirs[self.rows.clamp(min=0)]
        ours[self.rows == NOWHERE] = 0.0
        return ours


@dataclass(frozen=True)
class Imported:
    """A converted model and the details of its conversion."""

    model: GRPE
    shapes: Shapes
    vocabulary: Vocabulary | None
    """None for continuous node features."""
    zero_started: list[str]
    """The node values and edge types of ours that the authors' tables have no row for."""
    parts: dict[str, tuple[Part, ...]]
    """Where each of our tensors comes from; what is missing here was computed."""


def import_official(
    state_dict: Mapping[str, Any],
    *,
    num_heads: int,
    dataset: str | None = None,
    level: str | None = None,
    backend: str = "auto",
) -> GRPE:
    """Return the `GRPE` that predicts what the authors' model with this state dict predicts.

    Its key term is ``"self"`` and its max_distance one less than their ``max_hop``, as their code differs from the
    paper in both. Our bond types and atom columns take the rows of their codes for them; values of ours that they have
    no row for start at zero (`grpe_dgl.official.convert` lists them).

    Parameters
    ----------
    state_dict
        Every key must be known and used; keys may begin with ``module.``.
    num_heads
        The number of heads: the only size that does not follow from the shapes.
    dataset
        The dataset that the model was trained on, a name of `grpe_dgl.data.catalogue.CATALOGUE`. It determines the
        vocabulary and the level. None infers the vocabulary from the shapes.
    level
        ``"graph"`` or ``"node"``; None takes the dataset's, or graph.
    backend
        See `grpe_dgl.ops.relative_attention`.
    """
    return convert(state_dict, num_heads=num_heads, dataset=dataset, level=level, backend=backend).model


def convert(
    state_dict: Mapping[str, Any],
    *,
    num_heads: int,
    dataset: str | None = None,
    level: str | None = None,
    backend: str = "auto",
) -> Imported:
    """Return the model of `import_official` with the details of the conversion."""
    state = strip_prefix(state_dict)
    shapes = read_shapes(state)
    known = None if dataset is None else schema_of(dataset)
    vocabulary = _vocabulary(shapes, None if known is None else known.vocabulary)
    if num_heads < 1 or shapes.hidden_size % num_heads:
        raise InputError(f"num_heads is {num_heads}; accepted: a divisor of the hidden size {shapes.hidden_size}")
    model = GRPE(
        layers=shapes.layers,
        hidden_size=shapes.hidden_size,
        ffn_size=shapes.ffn_size,
        num_heads=num_heads,
        num_outputs=shapes.num_outputs,
        max_distance=shapes.max_hop - 1,
        num_edge_types=shapes.edge_codes if vocabulary is None else vocabulary.num_edge_types,
        level=level or ("graph" if known is None else known.task.level),
        node_vocabulary=None if vocabulary is None else vocabulary.node_vocabulary,
        node_features=shapes.node_features if vocabulary is None else None,
        share_encodings=shapes.shared,
        key_term="self",
        head_sizes=shapes.head_sizes,
        backend=backend,
    ).to(state["task_token.weight"].dtype if "task_token.weight" in state else None)
    parts = _parts(shapes, vocabulary)
    weights = _weights(model, parts, state)
    used = {part.key for sources in parts.values() for part in sources}
    if vocabulary is not None and shapes.node_rows is None:
        # A linear map of a value's one-hot vector is a row per value, the bias being in each.
        weights["nodes.embedding.weight"] = (state["node_emb.weight"].T + state["node_emb.bias"]).contiguous()
        used |= {"node_emb.weight", "node_emb.bias"}
    left = sorted(state.keys() - used)
    if left:
        raise InputError(
            f"the state dict has keys that no part of the model takes: {', '.join(left[:5])}"
            f"{f' and {len(left) - 5} more' if len(left) > 5 else ''}; accepted: a state dict of the authors' model"
        )
    model.load_state_dict(weights)
    return Imported(model.eval(), shapes, vocabulary, _zero_started(parts, vocabulary), parts)


def _vocabulary(shapes: Shapes, name: str | None) -> Vocabulary | None:
    if name is None:
        return None if shapes.node_rows is None else guess_vocabulary(shapes.node_rows, shapes.edge_codes)
    vocabulary = known_vocabulary(name)
    if shapes.node_rows is not None:
        if shapes.node_rows not in vocabulary.table_sizes:
            accepted = " or ".join(map(str, vocabulary.table_sizes))
            raise InputError(
                f"node_emb.weight has {shapes.node_rows} rows, but one for the vocabulary {name} has {accepted}; "
                "accepted: the dataset the model was trained on"
            )
        return vocabulary
    if vocabulary.node_vocabulary != (shapes.node_features,):
        raise InputError(
            f"node_emb takes {shapes.node_features} numbers per node, but the vocabulary {name} has columns of "
            f"{vocabulary.node_vocabulary} values; accepted: as many numbers as one column has values (one-hot), or no "
            "dataset"
        )
    return vocabulary


def _parts(shapes: Shapes, vocabulary: Vocabulary | None) -> dict[str, tuple[Part, ...]]:
    """Return where every tensor of ours comes from."""
    parts: dict[str, tuple[Part, ...]] = {"virtual_node": (Part("task_token.weight"),)}
    if vocabulary is None:
        parts |= {f"nodes.{kind}": (Part(f"node_emb.{kind}"),) for kind in ("weight", "bias")}
    elif shapes.node_rows is not None:
        parts["nodes.embedding.weight"] = (
            Part("node_emb.weight", _known(vocabulary.node_rows, shapes.node_rows), shapes.node_rows),
        )
    # Theirs: exact, far, task, unreachable. Ours: exact, far, unreachable, virtual.
    hops = torch.tensor([*range(shapes.max_hop + 1), shapes.max_hop + 2, shapes.max_hop + 1])
    codes = torch.arange(shapes.edge_codes)
    if vocabulary is not None:
        codes = _known(vocabulary.edge_codes, shapes.edge_codes)
    task, none = shapes.edge_codes + 1, shapes.edge_codes + 3
    edges = torch.cat([codes, torch.tensor([none, none, task])])  # self, none, virtual: their diagonal has no edge
    num_hops, num_edges = shapes.max_hop + HOP_ROWS_BESIDE_EXACT, shapes.edge_codes + EDGE_ROWS_BESIDE_CODES
    for layer in range(1 if shapes.shared else shapes.layers):
        for use in ("query", "key", "value"):
            hop, edge = (shapes.table(f"{use}_{kind}_emb", layer) for kind in ("hop", "edge"))
            parts[f"encodings.{layer}.{use}_spd.weight"] = (Part(hop, hops, num_hops),)
            parts[f"encodings.{layer}.{use}_edge.weight"] = (Part(edge, edges, num_edges),)
    for kind in ("weight", "bias"):
        for layer in range(shapes.layers):
            ours = theirs = f"layers.{layer}"
            attention = f"{theirs}.self_attention"
            parts[f"{ours}.attention_norm.{kind}"] = (Part(f"{theirs}.self_attention_norm.{kind}"),)
            parts[f"{ours}.attention.query_key_value.{kind}"] = tuple(
                Part(f"{attention}.linear_{letter}.{kind}") for letter in "qkv"
            )
            parts[f"{ours}.attention.output.{kind}"] = (Part(f"{attention}.output_layer.{kind}"),)
            parts[f"{ours}.ffn_norm.{kind}"] = (Part(f"{theirs}.ffn_norm.{kind}"),)
            parts[f"{ours}.ffn.0.{kind}"] = (Part(f"{theirs}.ffn.layer1.{kind}"),)
            parts[f"{ours}.ffn.2.{kind}"] = (Part(f"{theirs}.ffn.layer2.{kind}"),)
        parts[f"final_norm.{kind}"] = (Part(f"final_ln.{kind}"),)
        for i in range(len(shapes.head_sizes)):
            parts[f"head.{i}.0.{kind}"] = (Part(f"last_mlp.{i}.0.{kind}"),)
        parts[f"head.{len(shapes.head_sizes)}.{kind}"] = (Part(f"linear.{kind}"),)
    return parts


def _known(numbers: Any, count: int) -> Tensor:
    rows = torch.as_tensor(numbers)
    return torch.where(rows < count, rows, NOWHERE)


def _weights(model: GRPE, parts: Mapping[str, tuple[Part, ...]], state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return our state dict; raises an InputError that names a key that is missing or has another shape."""
    expected = model.state_dict()
    weights = {}
    for name, sources in parts.items():
        for part in sources:
            if part.key not in state:
                raise InputError(
                    f"the state dict has no key {part.key!r}; accepted: a state dict of the authors' model"
                )
            _check(part, state[part.key], expected[name], len(sources))
        tensor = torch.cat([part.take(state) for part in sources])
        weights[name] = tensor.reshape(expected[name].shape)
    return weights


def _check(part: Part, theirs: Tensor, ours: Tensor, share: int) -> None:
    shape = tuple(ours.shape)
    if part.key == "task_token.weight":
        accepted: tuple[int, ...] = (1, *shape)
    elif part.rows is not None:
        assert part.count is not None
        accepted = (part.count, *shape[1:])
    else:
        accepted = (shape[0] // share, *shape[1:])
    if tuple(theirs.shape) != accepted:
        raise InputError(f"{part.key} has shape {tuple(theirs.shape)}; accepted, as the other keys have it: {accepted}")


def _zero_started(parts: Mapping[str, tuple[Part, ...]], vocabulary: Vocabulary | None) -> list[str]:
    if vocabulary is None:
        return []
    said = []
    for name, say in (
        ("nodes.embedding.weight", vocabulary.node_value),
        ("encodings.0.query_edge.weight", vocabulary.edge_type),
    ):
        rows = parts[name][0].rows if name in parts else None
        if rows is not None:
            said += [say(int(row)) for row in (rows == NOWHERE).nonzero()]
    return said

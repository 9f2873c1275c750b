"""The sizes of the authors' model, inferred from the shapes of its state dict: all but the number of heads."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from grpe_dgl.errors import InputError

HOP_ROWS_BESIDE_EXACT = 3  # far, task, unreachable
EDGE_ROWS_BESIDE_CODES = 4  # unused, task, self (never looked up), none


@dataclass(frozen=True)
class Shapes:
    """The sizes of the authors' model."""

    layers: int
    hidden_size: int
    ffn_size: int
    max_hop: int
    """Exact distances 0..max_hop-1, then one row for the rest: our max_distance is one less."""
    edge_codes: int
    """K: their edge codes are 0..K-1."""
    node_rows: int | None
    """Rows of the node table; None for continuous features."""
    node_features: int | None
    shared: bool
    """Whether all layers share one set of tables."""
    head_sizes: tuple[int, ...]
    num_outputs: int

    def table(self, name: str, layer: int) -> str:
        """Return the key of a relative encoding, such as ``query_hop_emb``, in a layer."""
        return f"{name}.weight" if self.shared else f"{name}.{layer}.weight"


def strip_prefix(state: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return the state dict without the ``module.`` that DataParallel puts before every key."""
    if not isinstance(state, Mapping) or not state:
        raise InputError(f"the state dict is {type(state).__name__}; accepted: a mapping of keys to tensors")
    stripped = {}
    for key, value in state.items():
        if not isinstance(value, Tensor):
            raise InputError(f"the state dict has {type(value).__name__} at {key!r}; accepted: tensors")
        stripped[str(key).removeprefix("module.")] = value
    if len(stripped) != len(state):
        raise InputError("the state dict has a key both with and without 'module.'; accepted: each key once")
    return stripped


def read_shapes(state: Mapping[str, Tensor]) -> Shapes:
    """Read the sizes off a state dict without prefixes; raises an InputError that names a key which is missing."""
    layers = _count(state, r"layers\.(\d+)\.")
    if not layers:
        raise InputError("the state dict has no key layers.0.*; accepted: a state dict of the authors' model")
    nodes = _get(state, "node_emb.weight", dimensions=2)
    continuous = "node_emb.bias" in state
    hidden = nodes.shape[0 if continuous else 1]
    shared = "query_hop_emb.weight" in state
    suffix = "weight" if shared else "0.weight"
    max_hop = len(_get(state, f"query_hop_emb.{suffix}", dimensions=2)) - HOP_ROWS_BESIDE_EXACT
    if max_hop < 2:
        raise InputError(
            f"query_hop_emb has {max_hop + HOP_ROWS_BESIDE_EXACT} rows; accepted: 5 or more (max_hop >= 2)"
        )
    edge_codes = len(_get(state, f"query_edge_emb.{suffix}", dimensions=2)) - EDGE_ROWS_BESIDE_CODES
    if edge_codes < 1:
        raise InputError(f"query_edge_emb has {edge_codes + EDGE_ROWS_BESIDE_CODES} rows; accepted: 5 or more")
    extra = _count(state, r"last_mlp\.(\d+)\.")
    return Shapes(
        layers=layers,
        hidden_size=hidden,
        ffn_size=len(_get(state, "layers.0.ffn.layer1.weight", dimensions=2)),
        max_hop=max_hop,
        edge_codes=edge_codes,
        node_rows=None if continuous else len(nodes),
        node_features=nodes.shape[1] if continuous else None,
        shared=shared,
        head_sizes=tuple(len(_get(state, f"last_mlp.{i}.0.weight", dimensions=2)) for i in range(extra)),
        num_outputs=len(_get(state, "linear.weight", dimensions=2)),
    )


def _get(state: Mapping[str, Tensor], key: str, *, dimensions: int) -> Tensor:
    if key not in state:
        raise InputError(f"the state dict has no key {key!r}; accepted: a state dict of the authors' model")
    if state[key].dim() != dimensions:
        raise InputError(f"{key} has shape {tuple(state[key].shape)}; accepted: {dimensions} dimensions")
    return state[key]


def _count(state: Mapping[str, Tensor], pattern: str) -> int:
    numbers = {int(match[1]) for key in state if (match := re.match(pattern, key))}
    return max(numbers, default=-1) + 1

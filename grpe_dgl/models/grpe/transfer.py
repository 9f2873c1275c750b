"""The rows of GRPE's tables that have the same meaning in two models."""

import re

import torch
from torch import Tensor

from grpe_dgl.models.grpe.settings import GRPESettings
from grpe_dgl.models.model import WeightSource
from grpe_dgl.relations import Relations

_TABLE = re.compile(r"encodings\.(\d+)\.(query|key|value)_(spd|edge)\.weight")


def weight_source(name: str, old: GRPESettings, new: GRPESettings) -> WeightSource:
    """Return where the tensor `name` of a model with the settings `new` comes from in one with the settings `old`.

    Rows of the distance tables are matched by distance: with another max_distance the common ones, and those for far,
    unreachable and virtual, are taken; others keep their initial values. Tables that were shared by all layers become
    every layer's own where the new model does not share them.
    """
    table = _TABLE.fullmatch(name)
    if table is None:
        return WeightSource(name)
    layer = 0 if old.share_encodings else int(table[1])
    key = f"encodings.{layer}.{table[2]}_{table[3]}.weight"
    if table[3] == "edge":
        return WeightSource(key)
    return WeightSource(key, *(_common_rows(settings, old, new) for settings in (old, new)))


def is_edge_table(name: str) -> bool:
    """Whether the tensor `name` is a table over edge types, whose rows depend on the data's vocabulary."""
    table = _TABLE.fullmatch(name)
    return table is not None and table[3] == "edge"


def transfer_notes(old: GRPESettings, new: GRPESettings) -> tuple[list[str], list[str]]:
    """Return which rows of the distance tables start anew, and which of the old model's have no place."""
    fresh, left = [], []
    if new.max_distance > old.max_distance:
        fresh.append(f"{_distances(old.max_distance, new.max_distance)} in every table")
    if new.max_distance < old.max_distance:
        left.append(f"{_distances(new.max_distance, old.max_distance)} in every table")
    return fresh, left


def _common_rows(settings: GRPESettings, old: GRPESettings, new: GRPESettings) -> Tensor:
    """Return the rows of the distance tables of `settings` that both models have, in one order."""
    common = torch.arange(min(old.max_distance, new.max_distance) + 1)
    codes = Relations(settings.max_distance, 1)
    return torch.cat([common, torch.tensor([codes.spd_far, codes.spd_unreachable, codes.spd_virtual])])


def _distances(above: int, last: int) -> str:
    return f"distance {last}" if last == above + 1 else f"distances {above + 1} to {last}"

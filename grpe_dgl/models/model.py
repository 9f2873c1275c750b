"""The interface of models, which training, prediction, weight transfer and export use for every family."""

from typing import Any, ClassVar, NamedTuple, Self

import dgl
from torch import Tensor, nn

from grpe_dgl.errors import InputError
from grpe_dgl.families import ModelSettings
from grpe_dgl.schema import Schema


class PaddedBatch(NamedTuple):
    """B graphs of up to N nodes as tensors alone, for devices and programs without DGL; node 0 is the virtual node."""

    nodes: Tensor
    """(B, N, F) int64, or float32 for continuous features; anything valid for node 0 and for padding."""
    relation: Tensor
    """(B, N, N) integer: row = query, column = key; anything valid where a node is padding."""
    mask: Tensor
    """(B, N) bool: True where a node is real or virtual, False where it is padding."""


class WeightSource(NamedTuple):
    """Where a tensor of a new model comes from when weights are transferred from another of its family."""

    key: str
    """The name of the other model's tensor."""
    old_rows: Tensor | None = None
    """Which rows of it are taken, (rows,) int64; None takes the whole tensor."""
    new_rows: Tensor | None = None
    """Where they go in the new tensor."""


class GraphModel(nn.Module):
    """A model that takes one DGLGraph and predicts numbers per graph or per node.

    A family must set `reads` and define `from_settings` and `forward`; further abilities are declared by overriding.
    Parameters whose names begin with `head_prefix` belong to the head, which fine-tuning initialises anew.
    """

    reads: ClassVar[str]
    """``"pairs"``: the pair graph (`grpe_dgl.views.PairView`); ``"graph"``: the graph itself (`GraphView`)."""
    head_prefix: ClassVar[str] = "head."
    takes_padded: ClassVar[bool] = False
    """Whether `forward` also takes a `PaddedBatch`, as export and devices other than the CPU need."""

    @classmethod
    def from_settings(cls, settings: Any, schema: Schema, *, backend: str | None = None) -> Self:
        """Build the model for data of a schema.

        It is also built on torch's device ``meta``, without storage, to check a checkpoint's weights before they are
        used: shapes must not depend on the values of tensors.

        Parameters
        ----------
        settings
            The family's settings.
        schema
            The form of the graphs and the task.
        backend
            Which implementation computes, where the family has several (GRPE: see `grpe_dgl.ops.relative_attention`);
            None takes the default. It changes no number, so it is no part of the settings.
        """
        raise NotImplementedError

    def forward(self, graph: dgl.DGLGraph) -> Tensor:
        """Predict: (graphs, outputs) for a graph task, (real nodes, outputs) for a node task."""
        raise NotImplementedError

    @property
    def fingerprint_layers(self) -> int:
        """How many layers `fingerprint` can take vectors from; 0 where the family has no fingerprints."""
        return 0

    def fingerprint_size(self, layers: int) -> int:
        """Return how many numbers a fingerprint from the last `layers` layers has."""
        return 0

    def fingerprint(self, graph: dgl.DGLGraph, layers: int) -> Tensor:
        """Return each graph's vector after each of the last `layers` layers, of length 1 each, joined early to late."""
        raise InputError(f"{type(self).__name__} has no fingerprints")

    def weight_source(self, name: str, old: ModelSettings, new: ModelSettings) -> WeightSource:
        """Return where the tensor `name` comes from when weights of a model with the settings `old` are transferred."""
        return WeightSource(name)

    def transfer_notes(self, old: ModelSettings, new: ModelSettings) -> tuple[list[str], list[str]]:
        """Return in words which rows of tables start anew, and which of the old model's are left out."""
        return [], []

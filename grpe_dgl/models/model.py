"""The interface of models, which training, prediction, weight transfer and export use for every family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from torch import Tensor, nn

from grpe_dgl.errors import InputError
from grpe_dgl.families import ModelSettings
from grpe_dgl.schema import Schema

if TYPE_CHECKING:
    import dgl


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
    has_attention: ClassVar[bool] = False
    """Whether `attention` returns weights: the family defines `_attention`."""
    checkpoints_layers: ClassVar[bool] = False
    """Whether the family heeds `checkpoint_layers`."""
    checkpoint_layers: bool = False
    """Whether layers keep their input alone for the backward pass and are computed again in it: less memory, more time.
    It changes no number."""

    @property
    def uses_batch_statistics(self) -> bool:
        """Whether outputs in training depend on which graphs are in the batch, as with batch norm.

        A batch of such a model is computed in one piece: neither in groups of like size nor in micro-batches.
        """
        return any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in self.modules())

    @property
    def node_embedding(self) -> nn.Module | None:
        """The module that returns one vector per node for the node features, which ``training.flag`` perturbs.

        None where the family has none; those that are called ``nodes`` are found.
        """
        return getattr(self, "nodes", None)

    def weight_norm(self) -> Tensor | None:
        """Return what ``training.weight_penalty`` adds to the loss, a tensor of one number; None: nothing."""
        return None

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

    @property
    def added_virtual_nodes(self) -> int:
        """How many virtual nodes the model itself adds to every graph it reads (EGT)."""
        return 0

    def attention(self, graph: dgl.DGLGraph) -> list[Tensor]:
        """Return the attention weights of every layer, (pairs, heads) each, as in evaluation: without dropout.

        Of a model that reads pair graphs, row i n + j of each graph's n^2 pairs is the weight with which query i
        attends to key j, in the order of the pair graph's edges; virtual nodes that the model adds itself
        (`added_virtual_nodes`) are the first among the n. Of a model that attends along the graph's own edges, a row is
        an edge. In every head the weights of a query sum to one, if it has a key. The number of heads may differ
        between layers.

        Raises an InputError for families without attention.
        """
        if not self.has_attention:
            raise InputError(f"{type(self).__name__} has no attention weights")
        modes = [(module, module.training) for module in self.modules()]
        self.eval()
        try:
            return self._attention(graph)
        finally:
            for module, training in modes:
                module.training = training

    def _attention(self, graph: dgl.DGLGraph) -> list[Tensor]:
        """Return what `attention` does; called in evaluation mode."""
        raise NotImplementedError

    def weight_source(self, name: str, old: ModelSettings, new: ModelSettings) -> WeightSource:
        """Return where the tensor `name` comes from when weights of a model with the settings `old` are transferred."""
        return WeightSource(name)

    def is_embedding(self, name: str) -> bool:
        """Whether the meaning of the tensor `name` depends on the vocabulary of the data: node or edge features.

        By their names: what is in `nodes`, and in any module called `edges`, of the model or of a layer.
        """
        return name.startswith("nodes.") or "edges" in name.split(".")[:-1]

    def fit_descriptors(self, values: Tensor) -> None:
        """Take the scale of the training graphs' descriptors, (G, D), before training; for models that read them."""

    def transfer_notes(self, old: ModelSettings, new: ModelSettings) -> tuple[list[str], list[str]]:
        """Return in words which rows of tables start anew, and which of the old model's are left out."""
        return [], []

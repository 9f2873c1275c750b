"""A trained model that predicts SMILES or graphs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from grpe_dgl.checkpoint.file import Checkpoint, load_checkpoint
from grpe_dgl.checkpoint.target_units import to_predictions
from grpe_dgl.data.batching.parts import Division, Part, collate_part, rows_in_order
from grpe_dgl.data.batching.slices import Slices
from grpe_dgl.data.molecules.smiles import MAX_NODES
from grpe_dgl.errors import InputError
from grpe_dgl.inference.inputs import Chunk, smiles_rows
from grpe_dgl.inference.smiles_input import SMILESInput, is_frame, smiles_of
from grpe_dgl.schema import Schema
from grpe_dgl.views import View

if TYPE_CHECKING:
    from grpe_dgl.data.batching.collate import Batch

PAIRS_PER_BATCH = 1 << 18  # bounds the memory of a forward pass, whatever the molecules' sizes
FEW = 64
"""Up to this many graphs are computed as padded batches by models that take them: loading DGL and numba takes longer
than predicting them so. Whether they happen to be loaded makes no difference, as the last digits of a prediction must
not depend on which process makes it."""
PADDED_PAIRS = 1 << 14  # pairs of a padded batch that stay in the processor's cache
FINGERPRINT_LAYERS = 3
"""From how many of the last layers fingerprints are, if the model has as many."""
Array = npt.NDArray[Any]


def load(path: str | Path, *, device: str | torch.device = "cpu", backend: str | None = None) -> Predictor:
    """Open a checkpoint for predicting.

    Parameters
    ----------
    path
        A checkpoint that `grpe train`, `grpe finetune` or `grpe import` wrote; no code in it runs.
    device
        Where the model runs.
    backend
        See `grpe_dgl.ops.relative_attention`.

    Examples
    --------
    >>> predictor = grpe_dgl.load("runs/esol/best.ckpt")            # doctest: +SKIP
    >>> predictor.predict(["CCO", "c1ccccc1"])                      # doctest: +SKIP
    """
    return Predictor(load_checkpoint(path), device=device, backend=backend, source=str(path))


class Predictor:
    """A model that takes molecules, or graphs of the kind it was trained on.

    Parameters
    ----------
    checkpoint
        The model and its data's schema.
    device, backend
        See `load`.
    source
        Names the checkpoint in errors.

    Attributes
    ----------
    model : GraphModel
        In evaluation mode; its outputs are neither in the targets' unit nor probabilities, `predict`'s are.
    checkpoint : Checkpoint
    schema : Schema
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        device: str | torch.device = "cpu",
        backend: str | None = None,
        source: str = "the model",
    ) -> None:
        self.checkpoint = checkpoint
        self.source = source
        self.device = torch.device(device)
        self.model = checkpoint.model(backend=backend).to(self.device)
        self._division = Division.on(self.device, takes_padded=self.model.takes_padded)
        on_cpu = self.device.type == "cpu" and backend in (None, "auto", "dense")
        # A padded batch of the graphs themselves has no place for parallel edges, which the packed one takes.
        self._takes_few = on_cpu and self.model.takes_padded and self.model.reads == "pairs"

    def __repr__(self) -> str:
        task, model = self.schema.task, self.checkpoint.recipe.model
        what = f"{task.kind} of {', '.join(task.targets[:3])}{', ...' if len(task.targets) > 3 else ''}"
        return f"Predictor({self.source}: {what}; {model.title()})"

    @property
    def schema(self) -> Schema:
        """The form of the data the model was trained on."""
        return self.checkpoint.schema

    @property
    def view(self) -> View:
        """Which graph the model reads."""
        return self.checkpoint.recipe.model.view

    def predict(self, smiles: SMILESInput, *, max_nodes: int = MAX_NODES) -> Any:
        """Predict molecules.

        Parameters
        ----------
        smiles
            R molecules: a list, an array, a pandas Series, a generator, or a table (a pandas DataFrame, or a dict of
            columns) with one column of SMILES, recognised by its name.
        max_nodes
            The largest molecule that is taken, in atoms.

        Returns
        -------
        numpy.ndarray or pandas.DataFrame
            (R, outputs) float32: regressions in the target's own unit, classifications as probabilities (of yes for
            each target, or of each class). A molecule that is missing (None or NaN) or cannot be read is a row of NaN,
            with a warning that gives the reason.
            For a node task one row per atom, molecule after molecule. Of a task per molecule, a DataFrame gives a
            DataFrame with its index and named columns.
        """
        values = self._of_smiles(smiles, max_nodes, self.predict_chunk, self.schema.task.num_outputs)
        if not is_frame(smiles) or self.schema.task.level != "graph":
            return values
        import pandas  # loaded by the caller already

        return pandas.DataFrame(values, index=smiles.index, columns=self.schema.task.output_columns())  # type: ignore[union-attr]

    def fingerprint(self, smiles: SMILESInput, *, layers: int | None = None, max_nodes: int = MAX_NODES) -> Array:
        """Return each molecule's virtual node after the last `layers` layers, (R, fingerprint size) float32.

        None takes the last three, or all of a model with fewer.

        Taken before the final norm, each of length 1, joined early to late; NaN for what cannot be read.
        """
        chosen = self.require_layers(layers)
        width = self.model.fingerprint_size(chosen)
        return self._of_smiles(smiles, max_nodes, lambda chunk: self.fingerprint_chunk(chunk, chosen), width)

    @torch.no_grad()
    def outputs(self, batch: Batch | Part) -> Array:
        """Return what `predict` does for a batch: (graphs or real nodes, outputs)."""
        part = batch if isinstance(batch, Part) else _as_part(batch)
        outputs = to_predictions(self.model(part.to_device(self.device).graph).float(), self.schema).cpu()
        return rows_in_order([part.placement], [outputs], per_node=self.schema.task.level == "node").numpy()

    @torch.no_grad()
    def fingerprints(self, batch: Batch | Part, layers: int) -> Array:
        """Return what `fingerprint` does for a batch, (graphs, fingerprint size)."""
        part = batch if isinstance(batch, Part) else _as_part(batch)
        return self.model.fingerprint(part.to_device(self.device).graph, layers).cpu().numpy()

    def require_molecules(self) -> None:
        """Raise unless the model reads graphs that are made of SMILES."""
        if self.schema.vocabulary != "ogb":
            raise InputError(
                f"{self.source} reads graphs of the vocabulary {self.schema.vocabulary!r}, which are not made of "
                "SMILES; accepted: a processed dataset of that vocabulary, or a model of the vocabulary 'ogb'"
            )

    def require_layers(self, layers: int | None) -> int:
        """Return `layers`, for None three or all of fewer; raise unless the model has that many layers."""
        most = self.model.fingerprint_layers
        if most == 0:
            family = self.checkpoint.recipe.model.NAME
            raise InputError(f"{self.source} is a model of the family {family}, which has no fingerprints")
        if layers is None:
            return min(FINGERPRINT_LAYERS, most)
        if not 1 <= layers <= most:
            raise InputError(f"layers is {layers}; accepted: 1..{most}, as {self.source} has {most}")
        return layers

    def predict_chunk(self, chunk: Chunk) -> list[Array]:
        """Predict the graphs of a chunk, each (1 or nodes, outputs)."""
        return self._by_graph(chunk, self.outputs, per_node=self.schema.task.level == "node")

    def fingerprint_chunk(self, chunk: Chunk, layers: int) -> list[Array]:
        """Return the fingerprints of the graphs of a chunk, each (1, fingerprint size)."""
        return self._by_graph(chunk, lambda batch: self.fingerprints(batch, layers), per_node=False)

    def _by_graph(self, chunk: Chunk, compute: Callable[[Part], Array], *, per_node: bool) -> list[Array]:
        """Apply `compute` batch by batch, once to each graph; return its rows graph by graph, in order."""
        graphs, rows = np.unique(chunk.graphs, return_inverse=True)
        sizes = np.diff(chunk.arrays.node_offsets)[graphs].astype(np.int64) + 1
        few = self._takes_few and len(graphs) <= FEW
        division, budget = (Division(padded=True), PADDED_PAIRS) if few else (self._division, PAIRS_PER_BATCH)
        results: list[Array] = [np.zeros(0)] * len(graphs)
        for places in batches_by_size(sizes, budget):
            slices = Slices.of(chunk.arrays, graphs[places])
            everything = np.arange(len(places))
            values = compute(collate_part(chunk.arrays, slices, everything, self.view, division))
            counts = sizes[places] - 1 if per_node else np.ones(len(places), int)
            for place, part in zip(places, np.split(values, counts.cumsum()[:-1]), strict=True):
                results[place] = part
        return [results[row] for row in rows]

    def _of_smiles(
        self, smiles: SMILESInput, max_nodes: int, compute: Callable[[Chunk], list[Array]], width: int
    ) -> Array:
        molecules = smiles_of(smiles)
        self.require_molecules()
        parts: list[Array] = []
        rows = smiles_rows(
            [text or "" for text in molecules],
            max_nodes=max_nodes,
            standardised=self.schema.standardised_molecules,
        )
        for _, read in rows.jobs:
            chunk = read()
            found = iter(compute(chunk))
            for error in chunk.errors:
                if error is not None:
                    error = "there is none" if molecules[len(parts)] is None else error
                    warnings.warn(f"molecule {len(parts)}: {error}", stacklevel=3)
                parts.append(next(found) if error is None else np.full((1, width), np.nan, np.float32))
        return np.concatenate(parts) if parts else np.zeros((0, width), np.float32)


def _as_part(batch: Batch) -> Part:
    """Return a batch as its only part; its graph is a DGLGraph, whose rows are in order already."""
    places = np.arange(len(batch.indices))
    return Part(batch.graph, batch.label, places, batch.graph.batch_num_nodes().cpu().numpy())


def batches_by_size(sizes: npt.NDArray[np.int64], budget: int = PAIRS_PER_BATCH) -> Iterator[npt.NDArray[np.int64]]:
    """Yield places of graphs of like size, at most `budget` pairs of nodes at a time but at least one graph.

    Parameters
    ----------
    sizes
        (graphs,): nodes of each.
    budget
        Pairs in a batch as a padded one has them: graphs times the square of the largest.
    """
    order = np.argsort(sizes, kind="stable")
    first = 0
    for place in range(1, len(order) + 1):
        if place == len(order) or (place + 1 - first) * int(sizes[order[place]]) ** 2 > budget:
            yield order[first:place]
            first = place

"""The attention of a checkpoint's model to a molecule, to a graph of a dataset, and over a split."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from grpe_dgl.checkpoint.file import Checkpoint
from grpe_dgl.data.dataset import Dataset, load
from grpe_dgl.data.molecules.arrays import molecule_of_graph, read_molecules
from grpe_dgl.errors import InputError
from grpe_dgl.explain.attention_figure import Subject
from grpe_dgl.explain.maps import attention_maps, require_attention
from grpe_dgl.explain.summary import AttentionSummary, summarise_attention


def subject_of_smiles(checkpoint: Checkpoint, smiles: str, *, source: str = "the model") -> Subject:
    """Return the attention of a model of molecules to a molecule; `source` names the model in errors."""
    model = checkpoint.model()
    require_attention(model)
    if checkpoint.schema.vocabulary != "ogb":
        raise InputError(
            f"{source} reads graphs of the vocabulary {checkpoint.schema.vocabulary!r}, which are not made of SMILES; "
            "accepted: a graph of a processed dataset of that vocabulary"
        )
    errors, arrays = read_molecules([smiles], standardised=checkpoint.schema.standardised_molecules)
    if errors[0] is not None:
        raise InputError(errors[0])
    maps = attention_maps(model, checkpoint.recipe.model.view, arrays, np.arange(1))[0]
    return Subject(smiles, maps, molecule_of_graph(smiles, arrays, 0))


def subject_of_graph(
    checkpoint: Checkpoint, folder: Path, index: int, split: str | None = None, *, source: str = "the model"
) -> Subject:
    """Return the attention of a model to a graph of a processed dataset.

    Parameters
    ----------
    checkpoint
        The model.
    folder
        The dataset's folder.
    index
        The graph's number in the dataset or, with a split, in that.
    split
        The name of a split.
    source
        Names the model in errors.
    """
    data = _open(checkpoint, folder, source)
    count = len(data) if split is None else len(data[split])
    if index >= count:
        where = f"{folder}" if split is None else f"the split {split} of {folder}"
        raise InputError(f"graph {index} of {where} was asked for; accepted: 0..{count - 1}")
    graph = index if split is None else int(data[split].index[index])
    maps = attention_maps(checkpoint.model(), data.view, data.store, np.array([graph]))[0]
    title, molecule = f"graph {graph} of {data.schema.name}", None
    if data.store.has_smiles:
        smiles = data.store.smiles(graph)
        molecule = molecule_of_graph(smiles, data.store, graph)
        title += f": {smiles}"
    return Subject(title, maps, molecule)


def summary_of_split(
    checkpoint: Checkpoint,
    folder: Path,
    split: str,
    *,
    source: str = "the model",
    progress: Callable[[int, int | None], object] | None = None,
) -> AttentionSummary:
    """Return the mean attention of a model over a split of a processed dataset."""
    data = _open(checkpoint, folder, source)
    index = data[split].index
    if not len(index):
        raise InputError(f"the split {split} of {folder} has no graphs")
    return summarise_attention(checkpoint.model(), data.view, data.store, index, progress)


def _open(checkpoint: Checkpoint, folder: Path, source: str) -> Dataset:
    require_attention(checkpoint.model())
    data = load(folder, view=checkpoint.recipe.model.view)
    checkpoint.schema.require_same_input(data.schema, what=str(folder), model=source)
    return data

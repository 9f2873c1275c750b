"""Where the weights of a recipe's runs come from: a shipped model, where it fits the data, or random ones."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grpe_dgl.checkpoint.transfer import require_transferable
from grpe_dgl.data import load
from grpe_dgl.data.molecules.coverage import Coverage
from grpe_dgl.errors import InputError
from grpe_dgl.messages import Note
from grpe_dgl.models.model import GraphModel
from grpe_dgl.pretrained import shipped_models
from grpe_dgl.recipe import Recipe
from grpe_dgl.workflows.finetune import Pretrained


@dataclass(frozen=True)
class Start:
    """How the runs of a recipe start."""

    recipe: Recipe
    """With ``start_from`` as it is done: the name of the shipped model, or None."""
    weights: Callable[[GraphModel], dict[str, Any]] | None
    """The `start` of `grpe_dgl.workflows.experiment.run_experiment`; None: random weights."""
    notes: tuple[str, ...]
    """What a user should know: which model it starts from, or why not, and what that model has not seen."""


def starts_from_shipped(recipe: Recipe) -> bool:
    """Whether a recipe names a shipped model in ``start_from``."""
    return recipe.start_from in shipped_models()


def choose_start(recipe: Recipe, dataset_folder: Path, *, from_scratch: bool = False) -> Start:
    """Return how the runs of a recipe start on a dataset.

    From the shipped model that the recipe names in ``start_from`` where that model reads the dataset's columns and has
    the recipe's sizes; otherwise from scratch, with a note that gives the reason.

    Parameters
    ----------
    recipe
        Its ``start_from`` is None or the name of a shipped model.
    dataset_folder
        The processed dataset.
    from_scratch
        Whether to take random weights in any case.
    """
    scratch = dataclasses.replace(recipe, start_from=None)
    if recipe.start_from is None or from_scratch:
        return Start(scratch, None, ())
    name, data = recipe.start_from, load(dataset_folder)
    source = Pretrained.load(Path(name))
    transfer = recipe.training.transfer
    for variant in recipe.variants or (None,):
        settings = (recipe if variant is None else recipe.variant(variant)).model
        try:
            require_transferable(
                source.checkpoint, settings, data.schema, what=name, target=str(dataset_folder), transfer=transfer
            )
        except InputError as error:
            return Start(scratch, None, (f"training from scratch, not from {name}: {error}",))
    notes: list[str] = [Note(f"starts from the shipped model {name}", hint="from_scratch")]
    seen = source.checkpoint.coverage
    if seen is not None and data.schema.vocabulary == "ogb":
        notes += [f"{name} has not seen all of this data's {each}" for each in seen.unseen(Coverage.of(data.store))]
    return Start(recipe, source.start(recipe), tuple(notes))

"""The shipped model that a recipe starts from, where it fits the data."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.checkpoint.transfer import provenance_of, require_transferable, transfer_weights
from grpe_dgl.data.molecules.coverage import Coverage
from grpe_dgl.data.store.store import Store
from grpe_dgl.errors import InputError
from grpe_dgl.messages import Note
from grpe_dgl.models.model import GraphModel
from grpe_dgl.pretrained import shipped_models
from grpe_dgl.recipe import Recipe


@dataclass(frozen=True)
class Start:
    """How a run of a recipe starts."""

    weights: Callable[[GraphModel], dict[str, Any]] | None = None
    """Puts the shipped model's weights into a new one and returns their provenance. Where the model that the recipe
    names does not fit, it changes no weight, and the provenance gives the reason. None: the recipe names none."""
    notes: tuple[str, ...] = ()
    """What a user should know: which model it starts from, or why not, and what that model has not seen."""


def starts_from_shipped(recipe: Recipe) -> bool:
    """Whether a recipe names a shipped model in ``start_from``."""
    return recipe.start_from in shipped_models()


def choose_start(recipe: Recipe, store: Store) -> Start:
    """Return how a run of a recipe starts on a dataset.

    From the shipped model that the recipe names in ``start_from`` where that model reads the dataset's columns and has
    the recipe's sizes; otherwise from scratch, with a note that gives the reason.

    Parameters
    ----------
    recipe
        Without variants. Nothing is to choose where its ``start_from`` is not the name of a shipped model.
    store
        The processed dataset.
    """
    if not starts_from_shipped(recipe):
        return Start()
    name, transfer = str(recipe.start_from), recipe.training.transfer
    source = load_checkpoint(name)
    try:
        require_transferable(source, recipe.model, store.schema, what=name, target=str(store.path), transfer=transfer)
    except InputError as error:
        reason = f"not from {name}: {error}"
        return Start(lambda model: {"from_scratch": reason}, (f"starts from scratch, {reason}",))
    notes: list[str] = [Note(f"starts from the shipped model {name}", hint="from_scratch")]
    if source.coverage is not None and store.schema.vocabulary == "ogb":
        unseen = source.coverage.unseen(Coverage.of(store))
        notes += [f"{name} has not seen all of this data's {each}" for each in unseen]

    def weights(model: GraphModel) -> dict[str, Any]:
        return provenance_of(source, Path(name), transfer_weights(source, model, recipe.model, transfer))

    return Start(weights, tuple(notes))

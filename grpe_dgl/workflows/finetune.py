"""Fine-tuning: train a recipe's runs from the weights of a checkpoint instead of random ones."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.checkpoint.file import Checkpoint, load_checkpoint
from grpe_dgl.checkpoint.transfer import Transferred, provenance_of, require_transferable, transfer_weights
from grpe_dgl.data import load
from grpe_dgl.models.model import GraphModel
from grpe_dgl.recipe import Recipe, load_recipe, shipped_recipes
from grpe_dgl.workflows.setting import IGNORED, key_differences


@dataclass(frozen=True)
class Pretrained:
    """A checkpoint to start from.

    >>> source = Pretrained.load(Path("pcqm4m.ckpt"))  # doctest: +SKIP
    >>> recipe = source.adapt(load_recipe("molhiv"))  # doctest: +SKIP
    >>> source.preview(recipe, Path("data/molhiv")).fresh  # doctest: +SKIP
    ['head (1 wide)']
    >>> run_experiment(recipe, Path("data/molhiv"), Path("out"), start=source.start(recipe))  # doctest: +SKIP
    """

    path: Path
    checkpoint: Checkpoint

    @classmethod
    def load(cls, path: Path) -> "Pretrained":
        """Read the checkpoint at `path`."""
        return cls(path, load_checkpoint(path))

    def adapt(self, recipe: Recipe) -> Recipe:
        """Return `recipe` with the checkpoint's model; dropout, noise and the head's sizes stay the recipe's."""
        model = self.checkpoint.recipe.model.for_finetuning(recipe.model)
        return dataclasses.replace(recipe, start_from=str(self.path), model=model)

    def differences(self, recipe: Recipe) -> list[str]:
        """Return what differs between this checkpoint and the model that a recipe's number starts from.

        Parameters
        ----------
        recipe
            As written, with the name of the shipped recipe whose model it starts from in ``start_from``; there is
            nothing to compare without.
        """
        if recipe.paper is None or recipe.start_from not in shipped_recipes():
            return []
        expected, own = load_recipe(str(recipe.start_from)), self.checkpoint
        if own.schema.name != expected.dataset:
            return [f"starts from a model of {own.schema.name} instead of {expected.dataset}"]
        if "imported_from" in own.provenance:  # the authors' weights, whose recipe is not known
            return []
        ignored = (*IGNORED, "training.runs")
        return [
            f"starts from a model with {each}"
            for each in key_differences(own.recipe, expected, own.schema.task, ignored)
        ]

    def preview(self, recipe: Recipe, dataset_folder: Path) -> Transferred:
        """Return what a new model for this recipe and dataset takes over, or raise if the weights do not fit it."""
        schema = load(dataset_folder).schema
        transfer = recipe.training.transfer
        require_transferable(
            self.checkpoint, recipe.model, schema, what=str(self.path), target=str(dataset_folder), transfer=transfer
        )
        return transfer_weights(self.checkpoint, build_model(recipe.model, schema), recipe.model, transfer)

    def start(self, recipe: Recipe) -> Callable[[GraphModel], dict[str, Any]]:
        """Return the `start` of `grpe_dgl.workflows.experiment.run_experiment`: it fills in a new model's weights."""
        return lambda model: provenance_of(
            self.checkpoint,
            self.path,
            transfer_weights(self.checkpoint, model, recipe.model, recipe.training.transfer),
        )

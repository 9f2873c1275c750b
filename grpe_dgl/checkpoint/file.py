"""A checkpoint: one file with the model, its recipe, the schema of its data and the state needed to resume."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.checkpoint.validation import check_notes, check_plain, check_training, check_weights, content_checksum
from grpe_dgl.data.domain import TrainingDomain
from grpe_dgl.data.identity import DataIdentity
from grpe_dgl.data.molecules.coverage import Coverage
from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_file import atomic_file, what_is_left
from grpe_dgl.io.safe_load import NOT_TORCH, load_tensors
from grpe_dgl.models.model import GraphModel
from grpe_dgl.pretrained import model_file
from grpe_dgl.recipe import Recipe
from grpe_dgl.schema import Schema
from grpe_dgl.version import __version__

FORMAT = "grpe-dgl checkpoint"
FORMAT_VERSION = 2  # version 1 (grpe-dgl 0.1) calls the schema "description"
_WITHOUT_TENSORS = ("format_version", "library_version", "checksum", "recipe", "schema", "metrics", "provenance")
_PARTS = ("recipe", "schema", "weights", "metrics", "provenance", "training")


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """What a checkpoint file holds; everything in it is tensors and plain Python, so that loading runs no code."""

    recipe: Recipe
    """Resolved: the complete settings of the model and its training."""
    schema: Schema
    """The form of the data the model was trained on, and the unit of its targets."""
    weights: dict[str, torch.Tensor]
    """The state dict of the model."""
    metrics: dict[str, Any] = field(default_factory=dict)
    """What was measured: epoch, metric and its values."""
    provenance: dict[str, Any] = field(default_factory=dict)
    """Where the weights come from, if not from this recipe alone."""
    training: dict[str, Any] | None = None
    """What resuming needs: optimiser, update, random states, history. None in a checkpoint that is not resumed from."""
    data_identity: DataIdentity | None = None
    """Which data the model was trained on; None in files written before this was recorded, and in imported weights."""
    coverage: Coverage | None = None
    """Which elements and sizes the training molecules had; None for other graphs and in files written before this was
    recorded."""

    thresholds: tuple[float, ...] | None = None
    """Binary: of each target, the probability from which it is predicted as yes; None where none was chosen."""
    domain: TrainingDomain | None = None
    """Which molecules the model was trained on; None where that is not recorded, and for other graphs."""

    def model(self, *, backend: str | None = None) -> GraphModel:
        """Build the model with its weights, ready to predict."""
        model = build_model(self.recipe.model, self.schema, backend=backend)
        try:
            model.load_state_dict(self.weights)
        except RuntimeError as error:
            first = str(error).splitlines()[1].strip()
            raise InputError(f"the weights are not those of the recipe beside them: {first}") from None
        return model.eval()

    def save(self, path: str | Path) -> None:
        """Write the file atomically."""
        path = Path(path)
        recipe, schema = self.recipe.to_dict(), self.schema.to_dict()
        weights = {name: tensor.detach().cpu() for name, tensor in self.weights.items()}
        content = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "library_version": __version__,
            "checksum": content_checksum(recipe, schema, weights),
            "recipe": recipe,
            "schema": schema,
            "weights": weights,
            "metrics": self.metrics,
            "provenance": self.provenance,
            "training": self.training,
            "data_identity": None if self.data_identity is None else self.data_identity.to_dict(),
            "thresholds": None if self.thresholds is None else list(self.thresholds),
            "domain": None if self.domain is None else self.domain.to_dict(),
            "coverage": None if self.coverage is None else self.coverage.to_dict(),
        }
        try:
            with atomic_file(path) as temporary, temporary.open("wb") as file:
                torch.save(content, file)
        except (OSError, RuntimeError) as error:  # torch wraps a full disk in a RuntimeError of its own
            reason = getattr(error, "strerror", None) or "writing failed, as it does on a full disk"
            raise InputError(f"{path} could not be written: {reason}; {what_is_left(path)}") from error


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint; anything else is refused with an InputError, and no code of the file runs.

    `path` may be the name of a shipped model (`grpe_dgl.pretrained`), such as ``base``. The checksums of
    the file's parts are compared, and its content is checked against its own recipe and schema.
    """
    path = model_file(path)
    accepted = "accepted: a checkpoint written by grpe-dgl"
    try:
        content = load_tensors(path)
    except InputError:
        raise
    except NOT_TORCH:
        found = "a file that is cut short or damaged" if _is_zip(path) else "another kind of file"
        raise InputError(f"{path} is not a checkpoint: found {found}; {accepted}") from None
    if not isinstance(content, dict) or not isinstance(content.get("format"), str) or content["format"] != FORMAT:
        is_official = isinstance(content, dict) and any("linear_q" in str(key) for key in content)
        found = "the authors' weights" if is_official else "a torch file without our header"
        raise InputError(
            f"{path} is not a checkpoint: found {found}; {accepted}",
            hint="import_weights" if is_official else None,
            value=str(path),
        )
    if not _is_zip(path):
        raise InputError(f"{path} is not a checkpoint: found a file in torch's format before 1.6; {accepted}")
    if type(content.get("format_version")) is not int:
        raise InputError(f"{path} is damaged: it has no format version; {accepted}")
    if content["format_version"] > FORMAT_VERSION:
        raise InputError(
            f"{path} has format version {content['format_version']}, written by grpe-dgl "
            f"{content.get('library_version')}; this is grpe-dgl {__version__}, which reads up to "
            f"{FORMAT_VERSION}: update it"
        )
    if content["format_version"] < 2 and "description" in content:
        content["schema"] = content.pop("description")
    try:
        check_plain(content)
        check_plain([content.get(key) for key in _WITHOUT_TENSORS], tensors=False)
    except InputError as error:
        raise InputError(f"{path} is damaged: {error}; {accepted}") from None
    missing = [key for key in _PARTS if key not in content]
    if missing:
        raise InputError(f"{path} is damaged: it has no {missing[0]}; {accepted}")
    recipe = Recipe.from_dict(content["recipe"], source=str(path))
    try:
        schema = Schema.from_dict(content["schema"])
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{path} is damaged: its schema cannot be read ({error}); {accepted}") from None
    try:
        check_notes(content["metrics"], content["provenance"])
        model = check_weights(content["weights"], recipe, schema)
        if content["training"] is not None:
            check_training(content["training"], recipe, model)
        written = content.get("checksum")  # checkpoints of before have none
        if written not in (None, content_checksum(content["recipe"], content["schema"], content["weights"])):
            raise InputError("its checksum is not that of its recipe, schema and weights")
        identity = content.get("data_identity")
        data_identity = None if identity is None else DataIdentity.from_dict(identity)
        thresholds = _thresholds(content.get("thresholds"), len(schema.task.targets))
        kept = content.get("domain")
        domain = None if kept is None else TrainingDomain.from_dict(kept)
        seen = content.get("coverage")
        coverage = None if seen is None else Coverage.from_dict(seen)
    except ValueError as error:
        raise InputError(f"{path} is damaged: {error}; {accepted}") from None
    return Checkpoint(
        recipe=recipe,
        schema=schema,
        weights=content["weights"],
        metrics=content["metrics"],
        provenance=content["provenance"],
        training=content["training"],
        data_identity=data_identity,
        thresholds=thresholds,
        domain=domain,
        coverage=coverage,
    )


def _thresholds(found: object, targets: int) -> tuple[float, ...] | None:
    """Return the thresholds of a file, one for each target; raises a ValueError for anything else."""
    if found is None:
        return None
    if not isinstance(found, list) or len(found) != targets or not all(type(x) is float and 0 < x < 1 for x in found):
        raise ValueError("thresholds are not a number between 0 and 1 for each target")
    return tuple(found)


def _is_zip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"PK"

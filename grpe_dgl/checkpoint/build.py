"""From the model section of a recipe and a dataset's schema to the model."""

from grpe_dgl.checkpoint.without_storage import without_storage
from grpe_dgl.errors import InputError
from grpe_dgl.families import ModelSettings, model_class
from grpe_dgl.models.model import GraphModel
from grpe_dgl.schema import Schema

MOST_PARAMETERS = 2_000_000_000
"""The largest model that is built; the paper's largest has 118 million parameters."""


def build_model(settings: ModelSettings, schema: Schema, *, backend: str | None = None) -> GraphModel:
    """Build the model of a family for data of a schema.

    Parameters
    ----------
    settings
        The recipe's model section; its family decides the class.
    schema
        The form of the graphs and the task.
    backend
        See `grpe_dgl.models.model.GraphModel.from_settings`.
    """
    require_size(settings, schema)
    model: GraphModel = model_class(settings.NAME).from_settings(settings, schema, backend=backend)
    if model.reads != settings.view.reads:
        raise InputError(
            f"the family {settings.NAME} is not consistent: its model reads {model.reads!r}, its settings declare "
            f"{settings.view.reads!r}"
        )
    return model


def require_size(settings: ModelSettings, schema: Schema) -> None:
    """Raise if the model would have more than `MOST_PARAMETERS` parameters; nothing is allocated."""
    count = count_parameters(settings, schema)
    if count > MOST_PARAMETERS:
        raise InputError(
            f"the model section ({settings.describe()}) makes a model of {count:,} parameters for this data; "
            f"accepted: up to {MOST_PARAMETERS:,}"
        )


def count_parameters(settings: ModelSettings, schema: Schema) -> int:
    """Return how many numbers a model trains for data of a schema; nothing is allocated."""
    count = settings.count_parameters(schema)
    if count is not None:
        return count
    with without_storage():
        model = model_class(settings.NAME).from_settings(settings, schema)
    return sum(parameter.numel() for parameter in model.parameters())


def freeze_encoder(model: GraphModel) -> None:
    """Let only the head be trained."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith(model.head_prefix))

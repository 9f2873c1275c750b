"""From the model section of a recipe and a dataset's schema to the model."""

from grpe_dgl.errors import InputError
from grpe_dgl.families import ModelSettings, model_class
from grpe_dgl.models.model import GraphModel
from grpe_dgl.schema import Schema


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
    model: GraphModel = model_class(settings.NAME).from_settings(settings, schema, backend=backend)
    if model.reads != settings.view.reads:
        raise InputError(
            f"the family {settings.NAME} is not consistent: its model reads {model.reads!r}, its settings declare "
            f"{settings.view.reads!r}"
        )
    return model

"""Conversion between the unit of the targets and that of a model's outputs."""

from torch import Tensor

from grpe_dgl.schema import Schema


def in_target_unit(outputs: Tensor, schema: Schema) -> Tensor:
    """Return a model's outputs (N, T) in the unit of the labels, undoing the standardisation of a regression."""
    if schema.target_scale is None:
        return outputs
    mean, deviation = schema.target_scale
    return outputs * outputs.new_tensor(deviation) + outputs.new_tensor(mean)


def standardise(label: Tensor, schema: Schema) -> Tensor:
    """Return labels (N, T) in the unit of the model's outputs, in which it is trained."""
    if schema.target_scale is None:
        return label
    mean, deviation = schema.target_scale
    return (label - label.new_tensor(mean)) / label.new_tensor(deviation)


def to_predictions(outputs: Tensor, schema: Schema) -> Tensor:
    """Turn a model's outputs (..., outputs) into the targets' unit, or into probabilities."""
    if schema.task.kind == "binary":
        return outputs.sigmoid()
    return outputs.softmax(-1) if schema.task.kind == "multiclass" else in_target_unit(outputs, schema)

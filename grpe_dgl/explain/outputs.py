"""The number whose parts an explanation gives: a regression in its unit, or the log-odds of a class."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from grpe_dgl.checkpoint.target_units import in_target_unit
from grpe_dgl.errors import InputError
from grpe_dgl.messages import nearest
from grpe_dgl.schema import Schema


@dataclass(frozen=True)
class ExplainedOutput:
    """One output of a model of graphs."""

    schema: Schema
    column: int
    """Its place among the model's outputs."""
    name: str
    """The target's name, of several classes the class's."""

    @classmethod
    def of(cls, schema: Schema, target: str | None = None) -> Self:
        """Return the output called `target`, a target or, of several classes, a class; None takes the first."""
        task = schema.task
        if task.level != "graph":
            raise InputError("the model predicts nodes; accepted: a model that predicts whole graphs")
        names = list(task.classes if task.kind == "multiclass" else task.targets)
        if target is None:
            return cls(schema, 0, names[0])
        if target not in names:
            shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
            raise InputError(f"target is {target!r}{nearest(target, names)}; accepted: {shown}")
        return cls(schema, names.index(target), target)

    @property
    def unit(self) -> str:
        """What contributions are measured in, in words."""
        if self.schema.task.kind == "regression":
            return f"unit of {self.name}"
        return f"log-odds of {self.name}"

    def values(self, outputs: Tensor) -> Tensor:
        """Return the number that is explained, (graphs,), for a model's outputs (graphs, outputs)."""
        kind = self.schema.task.kind
        if kind == "regression":
            return in_target_unit(outputs, self.schema)[:, self.column]
        if kind == "binary":
            return outputs[:, self.column]
        others = [column for column in range(outputs.shape[1]) if column != self.column]
        return outputs[:, self.column] - torch.logsumexp(outputs[:, others], -1)

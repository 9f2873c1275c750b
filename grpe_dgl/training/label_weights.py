r"""How much each label counts in the loss: the weight of its class, times the weight of its row.

::

    w_c = L / (C n_c)        balanced: of a target's L labels in the split train, n_c are of class c; C classes occur

as scikit-learn's ``class_weight="balanced"`` has it, for each target by itself, missing labels left out. The loss of a
batch is the sum of w times the loss of each label over the sum of w, over all processes and parts of the batch, so that
it does not depend on how the batch is divided.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from grpe_dgl.data.dataset import Dataset
from grpe_dgl.recipe import TrainingRecipe


@dataclass(frozen=True)
class LabelWeights:
    """The weights of a run's labels."""

    classes: Tensor | None
    """Binary: (T, 2), for 0 and 1 of each target; multiclass: (C,); None: all classes count the same."""
    rows: Tensor | None
    """(graphs of the dataset,): the weight of each graph; None: all count the same."""

    @classmethod
    def of(cls, data: Dataset, training: TrainingRecipe) -> Self | None:
        """Return the weights that a recipe and a dataset ask for; None if there are none."""
        rows = None if data.store.weight is None else torch.from_numpy(np.array(data.store.weight, np.float32))
        classes = balanced(data.train.labels(), data.task.num_outputs) if training.class_weights else None
        return None if rows is None and classes is None else cls(classes, rows)

    def __call__(self, labels: Tensor, graphs: Tensor) -> Tensor:
        """Return the weight of each label, of the labels' shape, float32, 0 where there is no label.

        Parameters
        ----------
        labels
            (b, T) float32 with NaN for missing, or int64 of any shape that begins with b, with -1 for missing.
        graphs
            (b,): the graphs' numbers in the dataset; of labels per node, weights of rows do not apply.
        """
        if labels.is_floating_point():
            present = ~torch.isnan(labels)
            weights = present.float()
            if self.classes is not None:
                codes = torch.where(present, labels, 0.0).long()  # (b, T)
                weights = weights * self.classes.expand(len(labels), -1, -1).gather(2, codes.unsqueeze(-1)).squeeze(-1)
        else:
            present = labels >= 0
            weights = present.float()
            if self.classes is not None:
                weights = weights * self.classes[labels.clamp(min=0)]
        if self.rows is not None and len(labels) == len(graphs):
            own = self.rows[graphs]
            weights = weights * own.view(-1, *[1] * (labels.dim() - 1))
        return weights


def balanced(labels: Tensor, num_outputs: int) -> Tensor:
    """Return the balanced weights of classes: (T, 2) for labels (N, T) of 0, 1 and NaN, (C,) for class numbers (N,).

    A class without a label has weight 0; it has no label that could count.
    """
    if labels.is_floating_point():
        counts = torch.stack([(labels == 0).sum(0), (labels == 1).sum(0)], 1).double()  # (T, 2)
    else:
        counts = torch.bincount(labels[labels >= 0], minlength=num_outputs).double()  # (C,)
    total, occurring = counts.sum(-1, keepdim=True), (counts > 0).sum(-1, keepdim=True)
    return torch.where(counts > 0, total / (occurring.clamp(min=1) * counts.clamp(min=1)), 0.0).float()

"""Warnings about the splits of a new dataset, so that problems are found before a model is trained."""

import numpy as np

from grpe_dgl.data.splits import NAMES
from grpe_dgl.data.store.store import Store

_WITHOUT = {
    "train": "; training needs some",
    "valid": ": no epoch can be selected, so training takes the model of the last one",
}


def split_warnings(store: Store) -> list[str]:
    """Return a sentence for every split that is empty or, of yes/no targets, has both classes for none of them."""
    notes = []
    for name in dict.fromkeys((*NAMES, *store.splits)):
        index = store.splits.get(name)
        if index is None or not len(index):
            notes.append(f"the split {name} has no graphs{_WITHOUT.get(name, '')}")
        elif store.schema.task.kind == "binary" and store.schema.task.level == "graph":
            label = store.label[index.astype(np.int64)]
            found = [str(value) for value in (0, 1) if (label == value).any()]
            if not ((label == 0).any(axis=0) & (label == 1).any(axis=0)).any():
                only = f"; it has only {found[0]}" if len(found) == 1 else ""
                notes.append(f"no target has both 0 and 1 in the split {name}{only}: ROC-AUC and AP need both")
    return notes

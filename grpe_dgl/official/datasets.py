"""What is known of a dataset without its files: its vocabulary and what is predicted."""

from dataclasses import dataclass

from grpe_dgl.data.catalogue import find
from grpe_dgl.data.sources.source import Task


@dataclass(frozen=True)
class KnownDataset:
    """A dataset that the authors' models are trained on."""

    name: str
    """As its source calls it."""
    recipe_name: str
    """As `grpe preprocess` and recipes call it."""
    vocabulary: str
    task: Task


def find_dataset(name: str) -> KnownDataset:
    """Return what is known of a dataset of the catalogue; raises an InputError that lists them."""
    name, _ = find(name)
    if name == "zinc":
        task = Task(level="graph", kind="regression", targets=("constrained solubility",), metric="mae")
        return KnownDataset("zinc", name, "zinc", task)
    if name in ("pcqm4m", "pcqm4mv2"):
        task = Task(level="graph", kind="regression", targets=("homolumogap",), metric="mae")
        return KnownDataset(name, name, "ogb", task)
    if name in ("pattern", "cluster"):
        from grpe_dgl.data.sources.sbm import CLASSES

        classes = CLASSES[name]
        task = Task(level="node", kind="multiclass", targets=(name,), classes=classes, metric="weighted_accuracy")
        return KnownDataset(name, name, name, task)
    from grpe_dgl.data.sources.ogb import full_name, molecule_datasets

    entry = molecule_datasets()[full_name(name)]
    kind = {"binary classification": "binary", "regression": "regression"}[entry["task type"]]
    count = int(entry["num tasks"])
    targets = ("HIV_active",) if name == "molhiv" else tuple(f"target {i}" for i in range(count))
    return KnownDataset(
        full_name(name), name, "ogb", Task(level="graph", kind=kind, targets=targets, metric=entry["eval metric"])
    )

"""The folder of a finished run on molecules with hostile names, without training: an untrained model's predictions."""

import json

from grpe_dgl.data import load
from grpe_dgl.data.identity import DataIdentity
from grpe_dgl.training.evaluation import measure, predict_split
from grpe_dgl.training.predictions import Predictions
from tests.cli.invoke import grpe
from tests.trained import checkpoint
from tests.workflows.compare.run_folders import write_run

HOSTILE = "<script>window.hacked = 1</script>\"'|&amp;"
HOSTILE_SMILES = "CCO <img src=x onerror=window.hacked=1>"
SMILES = [HOSTILE_SMILES, "CCC", "c1ccccc1O", "CCN(C)C", "CC(=O)O", "CCCCCl", "C1CCNCC1", "OCC(O)CO", "CC#N", "CCOC"]


def write_dataset(folder, target=HOSTILE, labels=None):
    """Make a dataset of ten molecules: six to train on, two each for valid and test."""
    cell = '"' + target.replace('"', '""') + '"'
    rows = [
        f"{smiles},{label},{split}"
        for smiles, label, split in zip(
            SMILES, labels or range(10), ["test", "test", *["train"] * 6, "valid", "valid"], strict=True
        )
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.csv").write_text("\n".join([f"smiles,{cell},split", *rows]) + "\n")
    grpe("preprocess", "csv", "table.csv", "--target", target, "--split-column", "split", folder=folder)
    return folder / "data" / "table"


def write_molecule_run(folder, dataset, *, seed=0, name=HOSTILE, **more):
    """Write what a run leaves in its folder; the numbers in results.json are those of its predictions."""
    schema = load(dataset).schema
    saved = checkpoint(schema=schema, seed=seed)
    data = load(dataset, view=saved.recipe.model.view)
    metric = saved.recipe.training.metric
    splits, files = {}, {}
    for split in ("valid", "test"):
        predictions = predict_split(saved.model(), data[split], schema, batch_size=2)
        splits[split] = measure(metric, predictions, data[split].labels())
        files[split] = Predictions.of(data[split], predictions)
    write_run(
        folder, seed=seed, metric=metric, name=name, curve=(0.91234, 0.7, 0.6), splits=splits, dataset=HOSTILE,
        versions={"torch": "2 <b>"}, peak_memory={"of": "process", "since": "run"},
        data={"folder": str(dataset), "arrays": dict(DataIdentity.of(data.store).arrays), "graphs": {"train": 6}},
        **more,
    )  # fmt: skip
    (folder / "recipe.yaml").write_text(saved.recipe.override({"training.seed": seed}).to_yaml())
    for split, content in files.items():
        content.write(folder / f"predictions_{split}.npz")
    saved.save(folder / "best.ckpt")
    return json.loads((folder / "results.json").read_text())

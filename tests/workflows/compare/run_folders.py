"""Folders of finished runs, written without training."""

import json

from tests.training.tiny import recipe as tiny_recipe

ARRAYS = {"label": "1", "node_feat": "2", "split-train": "3", "split-valid": "4", "split-test": "5"}


def write_run(folder, *, seed=0, test=0.5, valid=0.6, metric="mae", name="tiny", variant=None, arrays=ARRAYS,
              curve=(0.9, 0.7, 0.6), paper=None, setting=None, overrides=(), without=(), **results):  # fmt: skip
    """Write recipe.yaml, metrics.csv and results.json; `without` names keys of the results to leave out."""
    folder.mkdir(parents=True)
    chosen = tiny_recipe(training__seed=seed, training__metric=metric, **dict(overrides))
    (folder / "recipe.yaml").write_text(chosen.to_yaml())
    rows = [f"{epoch},{value}" for epoch, value in enumerate(curve, 1)]
    (folder / "metrics.csv").write_text("\n".join([f"epoch,valid_{metric}", *rows]) + "\n")
    content = {
        "dataset": "tiny", "recipe": name, "variant": variant, "seed": seed, "metric": metric, "best_epoch": 3,
        "epochs": 3, "updates": 15, "stopped_early": False, "splits": {"valid": valid, "test": test},
        "parameters": 1234, "seconds": 30.0, "seconds_by_part": {"forward": 30.0}, "peak_memory_bytes": 5_000_000,
        "hardware": {"processor": "A CPU", "threads": 2, "processes": 1}, "data": {"arrays": dict(arrays)},
        "model": {"name": "grpe", "description": "tiny"}, "paper": paper, "setting": setting,
    }  # fmt: skip
    content |= results
    content = {key: value for key, value in content.items() if key not in without}
    (folder / "results.json").write_text(json.dumps(content))
    return folder

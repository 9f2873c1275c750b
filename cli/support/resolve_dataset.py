"""Find the processed dataset of a command and verify it; make it first if its raw files are on the disk."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from grpe_dgl.data.tables.formats import is_table
from grpe_dgl.io.run_models import is_run_folder

from .make_dataset import csv_command_for, make_dataset
from .terminal import echo

if TYPE_CHECKING:
    from grpe_dgl.checkpoint.file import Checkpoint


def dataset_of_recipe(recipe: str, own: str | None, dataset: str | None) -> str:
    """Return the dataset of a command: the one that the recipe names (`own`), or the one that ``--dataset`` gives."""
    if own is None and dataset is None:
        raise click.UsageError(f"the recipe {recipe} fits any dataset: choose one with --dataset NAME")
    if own is not None and dataset not in (None, own):
        raise click.UsageError(f"the recipe {recipe} is for the dataset {own}; --set dataset={dataset} changes that")
    return str(own or dataset)


def resolve_dataset(name: str, data: Path, raw_dir: Path | None) -> Path:
    """Return the folder of the dataset `name` as `find_dataset` does, after comparing every array with its hash."""
    from grpe_dgl.data.store.store import Store

    folder = find_dataset(name, data, raw_dir)
    Store(folder).verify()
    return folder


def dataset_of_checkpoint(checkpoint: Path, saved: "Checkpoint") -> str:
    """Return the dataset that a model was trained on: in the folder of its run, as `grpe fit` makes it, or its name."""
    for folder in list(checkpoint.parents)[:3]:  # of the run; of all its seeds or folds; of all its repeats
        if is_run_folder(folder) and (folder / "data" / "manifest.json").exists():
            return str(folder / "data")
    return saved.recipe.dataset or saved.schema.name


def find_dataset(name: str, data: Path, raw_dir: Path | None) -> Path:
    """Return the folder of the dataset `name`, a name inside `data` or a path; make it if only its raw files exist.

    Nothing is downloaded: without raw files, the error shows the command that downloads them.
    """
    from grpe_dgl.data.catalogue import CATALOGUE, Request, find
    from grpe_dgl.errors import InputError
    from grpe_dgl.io.download import NotDownloadedError, no_downloads
    from grpe_dgl.messages import nearest

    for folder in (data / name, Path(name)):
        if (folder / "manifest.json").exists():
            return folder
    if is_table(name):
        called = Path(name).name.split(".")[0]
        raise InputError(f"{name} is a table, not a dataset: {csv_command_for(name)}, then `--dataset {called}`")
    try:
        name, entry = find(name)
    except InputError:
        there = sorted(file.parent.name for file in data.glob("*/manifest.json"))
        close = nearest(name, [*there, *CATALOGUE])
        raise InputError(
            f"there is no dataset {name!r}{close}: {data / name} does not exist; {data} holds "
            f"{', '.join(there) or 'none'}, and `grpe preprocess` makes {', '.join(CATALOGUE)} and datasets of your "
            "own CSV"
        ) from None
    folder = data / name
    if (folder / "manifest.json").exists():
        return folder
    request = Request(name=name, raw_dir=raw_dir or data / "raw")
    try:
        with no_downloads():
            source = entry.make(request)
    except NotDownloadedError:
        where = "" if raw_dir is None else f" --raw-dir {raw_dir}"
        generate = (
            f", and `grpe preprocess {name} --generate --data {data}` makes graphs of the same kind without a network"
        )
        raise InputError(
            f"{folder} does not exist and its raw files are not in {request.raw_dir}: "
            f"`grpe preprocess {name} --data {data}{where}` downloads and makes it"
            f"{generate if entry.can_generate else ''}"
        ) from None
    echo(f"{folder} does not exist, but its raw files are in {request.raw_dir}: preprocessing them first")
    with no_downloads():
        make_dataset(folder, entry.settings(request), lambda: source, workers=1, strict=False, force=False)
    return folder

"""The dataset of a table that is fitted, in the folder of its run."""

import csv
from pathlib import Path

from grpe_dgl.data.sources.csv import CSVRequest, csv_source
from grpe_dgl.data.store.preprocess import existing, preprocess
from grpe_dgl.errors import InputError
from grpe_dgl.workflows.experiment import DATA


def require_new(out: Path, *, resume: bool) -> None:
    """Raise if the folder of a run is in use, before anything is written to it."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} exists and is not a folder")
    if (
        not resume
        and out.exists()
        and any(not file.name.startswith(".") and file.name != DATA for file in out.iterdir())
    ):
        raise InputError(f"{out} exists already, and resume is not set", hint="resume_run")


def must_replace(request: CSVRequest, folder: Path, *, resume: bool) -> bool:
    """Whether the dataset in the folder of a run that never began training was made of other data or settings."""
    if resume:
        return False  # then it is an error
    try:
        existing(folder, request.settings())
    except InputError:
        return True
    return False


def make_dataset(request: CSVRequest, folder: Path, *, workers: int = 1, resume: bool = False) -> list[str]:
    """Make the dataset of a table unless it is there, made with the same settings; return notes for the user."""
    force = must_replace(request, folder, resume=resume)
    if not force and existing(folder, request.settings()) is not None:
        return []
    source, notes = csv_source(request)
    preprocess(source, folder, workers=workers, force=force)
    return notes


def skipped_rows(dataset_folder: Path) -> list[tuple[int, str]]:
    """Return the rows of a dataset's source that became no graph, with the reasons."""
    with (dataset_folder / "skipped.csv").open(newline="", encoding="utf-8") as file:
        return [(int(row["row"]), row["reason"]) for row in csv.DictReader(file)]

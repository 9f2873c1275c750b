"""Checks of ``--out`` before a command starts its work."""

import os
from pathlib import Path

import click

OUTPUTS = (".csv", ".csv.gz", ".parquet")


def check_output(path: Path, *, force: bool, suffixes: tuple[str, ...] = (), option: str = "--out") -> None:
    """Raise unless a file can be written to `path`, which `option` gave; an existing one only with `force`."""
    from grpe_dgl.errors import InputError

    if suffixes and not path.name.lower().endswith(suffixes):
        raise click.UsageError(f"{option} {path}: accepted: a name that ends in {', '.join(suffixes)}")
    if path.is_dir():
        raise InputError(f"{path} is a folder; accepted: the name of a file")
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not an ordinary file; accepted: the name of a file")
    if path.exists() and not force:
        raise InputError(f"{path} exists already; --force overwrites it")
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{path} cannot be written: the folder {path.parent} is not writable")

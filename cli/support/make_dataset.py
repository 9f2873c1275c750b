"""Make a processed dataset, with progress: for `grpe preprocess` and for commands that need a dataset."""

import shlex
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .progress import progress
from .terminal import echo

if TYPE_CHECKING:
    from grpe_dgl.data.sources.source import Source
    from grpe_dgl.data.store.manifest import Manifest


def csv_command_for(file: str) -> str:
    """Return the command that makes a dataset of a table."""
    return f"`grpe preprocess csv {shlex.quote(file)} --target COLUMN` makes one of it"


def make_dataset(
    path: Path,
    settings: Mapping[str, Any],
    make: Callable[[], "Source"],
    *,
    workers: int,
    strict: bool,
    force: bool,
) -> "Manifest | None":
    """Make the dataset at `path`, unless it exists and was made with the same settings, and print the result.

    Parameters
    ----------
    path
        The dataset's folder.
    settings
        The settings it is made with, compared with those of an existing one.
    make
        Returns its source; not called if there is nothing to do.
    workers, strict, force
        See `grpe_dgl.data.store.preprocess.preprocess`.

    Returns
    -------
    Manifest | None
        That of the new dataset; None if there was nothing to do.
    """
    from grpe_dgl.data.store.preprocess import existing, preprocess, require_replaceable
    from grpe_dgl.errors import InputError

    if force:
        require_replaceable(path)
    else:
        try:
            manifest = existing(path, settings)
        except InputError as error:
            require_replaceable(path)  # raises where --force would not help
            again = "\n--force makes the dataset again in its place." if _has_force() else ""
            raise click.ClickException(f"{error}{again}") from None
        if manifest is not None:
            again = " --force makes it again." if _has_force() else ""
            echo(f"{path} exists already: {manifest.num_graphs:,} graphs.{again}")
            return None
    begin = time.monotonic()
    source = make()
    with progress(source.schema.name, source.num_rows, "rows") as done:
        manifest = preprocess(source, path, workers=workers, strict=strict, force=True, progress=done)
    splits = ", ".join(f"{name} {count:,}" for name, count in manifest.splits.items())
    echo(f"{path}: {manifest.num_graphs:,} graphs ({splits}) in {time.monotonic() - begin:.1f} s")
    if manifest.num_skipped:
        verb = "was" if manifest.num_skipped == 1 else "were"
        echo(f"{manifest.num_skipped:,} of {manifest.num_rows:,} rows {verb} skipped: {path / 'skipped.csv'}")
    return manifest


def _has_force() -> bool:
    """Whether the running command has the option --force."""
    context = click.get_current_context(silent=True)
    return context is not None and any(option.name == "force" for option in context.command.params)

"""Make a processed dataset from a source."""

import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from grpe_dgl.data.sources.source import Source
from grpe_dgl.data.store.manifest import FILE, Manifest
from grpe_dgl.data.store.store import Store
from grpe_dgl.data.store.validation import pack
from grpe_dgl.data.store.writer import StoreWriter
from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_folder import AtomicFolder
from grpe_dgl.io.workers import run_in_order


def preprocess(
    source: Source,
    path: str | Path,
    *,
    workers: int = 1,
    strict: bool = False,
    force: bool = False,
    progress: Callable[[int], object] | None = None,
) -> Manifest:
    """Run a source's jobs and write the dataset.

    The dataset appears at `path` when it is complete, and not before; ``skipped.csv`` in it lists the rows that became
    no graph.

    Parameters
    ----------
    source
        The source.
    path
        The dataset's folder.
    workers
        Processes that make graphs and measure distances; 1 does so in this process. With more, the program's main
        module must be importable without side effects, as always with `multiprocessing`.
    strict
        Whether the first skipped row is an error.
    force
        Whether to replace a dataset that is there.
    progress
        Called after each run with the number of rows it read.

    Returns
    -------
    Manifest
        That of the new dataset.
    """
    path = Path(path)
    if workers < 1:
        raise InputError(f"workers is {workers}; accepted: 1 or more")
    if force:
        require_replaceable(path)
    elif os.path.lexists(path):
        raise InputError(f"{path} exists already; force=True replaces a dataset")
    with AtomicFolder(path) as staging:
        writer = StoreWriter(staging.folder, source)
        packed = run_in_order(source.jobs, functools.partial(pack, schema=source.schema), workers)
        try:
            for run in packed:
                if strict and run.graphs.skipped:
                    first = run.graphs.skipped[0]
                    raise InputError(f"row {first.row}: {first.reason}")
                if source.observe is not None:
                    source.observe(run.graphs)
                writer.append(run)
                if progress is not None:
                    progress(len(run.graphs.num_nodes) + len(run.graphs.skipped))
            manifest = writer.finish()
        except OSError as error:
            if error.filename is not None:
                raise
            raise InputError(f"{path} cannot be written: {error.strerror}") from error
        finally:
            packed.close()  # ends the workers now, not when the traceback of an error is freed
            writer.close()
        staging.commit()
    return manifest


def existing(path: Path, settings: Mapping[str, Any]) -> Manifest | None:
    """Return the manifest of the dataset at `path` if it was made with `settings`; None if there is nothing at `path`.

    Raises an InputError that names each setting that differs if it was made with others.
    """
    if not os.path.lexists(path):
        return None
    manifest = Store(path).manifest
    differences = [
        f"{key} is {manifest.settings.get(key)!r} there, {settings.get(key)!r} was asked for"
        for key in sorted(manifest.settings.keys() | settings.keys())
        if manifest.settings.get(key) != settings.get(key)
    ]
    if differences:
        raise InputError(f"{path} was made with other settings: {'; '.join(differences)}")
    return manifest


def require_replaceable(path: Path) -> None:
    """Raise unless `path` is free, an empty folder or a dataset, whole or broken: nothing else is ever replaced."""
    if not os.path.lexists(path):
        return
    if path.is_symlink() or not path.is_dir():
        raise InputError(f"{path} exists and is not a folder: it is not replaced")
    if any(path.iterdir()) and not (path / FILE).exists():
        raise InputError(f"{path} exists and is not a dataset (it has no {FILE}): it is not replaced")

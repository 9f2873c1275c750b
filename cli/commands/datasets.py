"""``grpe datasets``: the datasets that can be made and those that exist."""

from pathlib import Path

import click

from ..support.options import data_option
from ..support.terminal import echo


@click.command("datasets")
@data_option
def datasets_command(data: Path) -> None:
    """List the datasets that can be made and those that exist."""
    from grpe_dgl.data.catalogue import CATALOGUE
    from grpe_dgl.data.store.manifest import FILE, Manifest
    from grpe_dgl.errors import InputError

    echo("Can be made with `grpe preprocess NAME`:")
    width = max(map(len, CATALOGUE))
    for name, entry in CATALOGUE.items():
        generated = " (or with --generate)" if entry.can_generate else ""
        echo(f"  {name:{width}}  {entry.title}{generated}")

    folders = sorted(file.parent for file in data.glob(f"*/{FILE}"))
    echo(f"\nIn {data}:" if folders else f"\nIn {data}: none yet")
    width = max((len(folder.name) for folder in folders), default=0)
    for folder in folders:
        try:
            manifest = Manifest.read(folder)
        except InputError as error:
            echo(f"  {folder.name:{width}}  unusable: {error}")
            continue
        splits = ", ".join(f"{name} {count:,}" for name, count in manifest.splits.items())
        echo(f"  {folder.name:{width}}  {manifest.origin}: {manifest.num_graphs:,} graphs ({splits})")

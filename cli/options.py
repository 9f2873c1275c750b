"""Options that several commands have."""

from pathlib import Path

import click

data_option = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("data"),
    show_default=True,
    help="Folder of the processed datasets.",
)

"""Options that several commands have."""

from pathlib import Path
from typing import Any

import click

from grpe_dgl.errors import InputError


class InputFile(click.Path):
    """A file that must be there: a mistyped name is told at once, before any library is loaded."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        path = Path(str(super().convert(value, param, ctx)))
        require_file(path)
        return path


def require_file(path: Path) -> None:
    """Raise unless there is such a file, whether or not it can be read."""
    if not path.exists():
        raise InputError(f"{path} cannot be read: No such file or directory")
    if path.is_dir():
        best = path / "best.ckpt"
        hint = f"; did you mean {best}?" if best.exists() else ""
        raise InputError(f"{path} is a folder; accepted: a file{hint}")


data_option = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("data"),
    show_default=True,
    help="Folder of the processed datasets.",
)

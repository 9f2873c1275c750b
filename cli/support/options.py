"""Options that several commands have, and how a group of options becomes one object."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from grpe_dgl.errors import InputError

Command = TypeVar("Command", bound=Callable[..., Any])


class InputFile(click.Path):
    """A file that must exist; a mistyped name is an error before any library is loaded."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        path = Path(str(super().convert(value, param, ctx)))
        require_file(path)
        return path


class CheckpointFile(click.Path):
    """A checkpoint: a file, the folder of a run of one model, or the name of a shipped model."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path of the file, or the name of a shipped model as it is."""
        from grpe_dgl.pretrained import is_shipped, model_file

        path = Path(str(super().convert(value, param, ctx)))
        model_file(path)  # raises for a name that is neither a file nor a shipped model
        return path if is_shipped(path) else checkpoint_of(path)


def checkpoint_of(path: Path) -> Path:
    """Return the checkpoint that a path stands for: the file itself, or the model in the folder of a finished run."""
    from grpe_dgl.io.run_models import models_of

    if not path.is_dir():
        require_file(path)
        return path
    models = models_of(path)
    if len(models) > 1:
        raise InputError(f"{path} has {len(models)} models; accepted: one of them, such as {models[0]}")
    return models[0]


def require_file(path: Path) -> None:
    """Raise unless there is such a file, whether or not it can be read."""
    if not path.exists():
        raise InputError(f"{path} cannot be read: No such file or directory")
    if path.is_dir():
        raise InputError(f"{path} is a folder; accepted: a file")


data_option = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("data"),
    show_default=True,
    help="Folder of the processed datasets.",
)
raw_dir_option = click.option(
    "--raw-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the raw files, if the dataset is not processed yet.  [default: DATA/raw]",
)
device_option = click.option("--device", default="auto", show_default=True, help="cpu, cuda, cuda:1, ...")


def options_as(
    kind: type, options: Sequence[Callable[[Any], Any]], *, argument: str = "options"
) -> Callable[[Command], Command]:
    """Return a decorator that adds `options` to a command, which receives their values as one object.

    Parameters
    ----------
    kind
        A dataclass with a field for each option, of the option's parameter name. The command gets an instance of it
        as its argument `argument`.
    options
        What `click.option` returned, in the order of the help page.
    argument
        The name of the command's argument.
    """
    names = [field.name for field in dataclasses.fields(kind)]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def gathered(**values: Any) -> Any:
            chosen = kind(**{name: values.pop(name) for name in names if name in values})
            return command(**values, **{argument: chosen})

        decorated: Any = gathered
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate

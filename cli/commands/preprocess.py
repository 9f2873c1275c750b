"""``grpe preprocess``: make a dataset. One sub-command per dataset of `grpe_dgl.data.catalogue`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from grpe_dgl.data.tables.formats import is_table

from ..support.make_dataset import csv_command_for, make_dataset
from ..support.make_encodings import make_encodings
from ..support.options import data_option
from ..support.progress import progress_so_far

if TYPE_CHECKING:
    from grpe_dgl.data.catalogue import Entry, Request
    from grpe_dgl.data.sources.source import Source

Command = TypeVar("Command", bound=Callable[..., Any])


class Datasets(click.Group):
    """One sub-command for every dataset of the catalogue, then those that are registered."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all sub-commands."""
        from grpe_dgl.data.catalogue import CATALOGUE

        return [*CATALOGUE, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the sub-command of a dataset."""
        from grpe_dgl.data.catalogue import find
        from grpe_dgl.errors import InputError

        registered = super().get_command(ctx, cmd_name)
        if registered is not None:
            return registered
        if is_table(cmd_name):
            raise click.UsageError(f"{cmd_name!r} is a table, not a dataset's name: {csv_command_for(cmd_name)}", ctx)
        try:
            name, entry = find(cmd_name)
        except InputError as error:
            raise click.UsageError(str(error), ctx) from None
        return _command(name, entry.title, entry.can_generate)


@click.group("preprocess", cls=Datasets, subcommand_metavar="DATASET [OPTIONS]...")
def preprocess_command() -> None:
    """Make a processed dataset: graphs, distances, splits.

    `grpe preprocess DATASET --help` lists the options of a dataset.
    """


def dataset_options(command: Command) -> Command:
    """Add the options that every dataset has: --data, --workers, --encodings, --strict and --force."""
    for option in (
        click.option("--force", is_flag=True, help="Replace the dataset if it exists."),
        click.option("--strict", is_flag=True, help="Stop at the first row that cannot be used."),
        click.option("--encodings", multiple=True, callback=_check_encodings, metavar="KIND:SIZE",
                     help="Also store positional encodings, such as laplacian:8; repeat it for more. Training computes "
                     "those that a model needs."),
        click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Worker processes."),
        data_option,
    ):  # fmt: skip
        command = option(command)
    return command


def _check_encodings(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    from grpe_dgl.errors import InputError
    from grpe_dgl.views import Encoding

    try:
        return tuple(str(Encoding.parse(name)) for name in value)
    except InputError as error:
        raise click.BadParameter(str(error), ctx, param) from None


def _command(name: str, title: str, can_generate: bool) -> click.Command:
    """Return the sub-command of a dataset of the catalogue."""

    @click.command(name, help=f"{title}.")
    @click.option(
        "--raw-dir",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder that holds the publisher's folder; downloads go there.  [default: DATA/raw]",
    )
    @dataset_options
    def command(
        data: Path,
        workers: int,
        encodings: tuple[str, ...],
        strict: bool,
        force: bool,
        raw_dir: Path | None,
        generate: bool = False,
        graphs: tuple[int, int, int] | None = None,
        seed: int | None = None,
    ) -> None:
        from grpe_dgl.data.catalogue import CATALOGUE, Request

        if not generate and (graphs is not None or seed is not None):
            raise click.UsageError("--graphs and --seed go with --generate.")
        request = Request(
            name=name,
            raw_dir=raw_dir or data / "raw",
            generate=generate,
            graphs=graphs,
            seed=seed or 0,
            progress=progress_so_far("download", "bytes"),
        )
        entry = CATALOGUE[name]
        make_dataset(
            data / name,
            entry.settings(request),
            lambda: _make(entry, request),
            workers=workers,
            strict=strict,
            force=force,
        )
        make_encodings(data / name, encodings, workers=workers)

    if can_generate:
        command.params += [
            click.Option(
                ["--generate"], is_flag=True, help="Generate graphs by the published procedure; needs no network."
            ),
            click.Option(
                ["--graphs"], type=_Counts(), help="Generated graphs for train,valid,test.  [default: as published]"
            ),
            click.Option(["--seed"], type=click.IntRange(min=0), help="Seed of the generated graphs.  [default: 0]"),
        ]
    return command


def _make(entry: "Entry", request: "Request") -> "Source":
    from grpe_dgl.errors import InputError

    try:
        return entry.make(request)
    except InputError as error:
        if not entry.can_generate or request.generate:
            raise
        raise InputError(f"{error}\n--generate makes graphs by the published procedure, without a network.") from None


class _Counts(click.ParamType):
    """Three counts with commas between them."""

    name = "N,N,N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the three as a tuple."""
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in str(value).split(",")]
        if len(parts) != 3 or not all(part.isdecimal() for part in parts) or not any(int(part) for part in parts):
            self.fail(f"{value!r}; accepted: three counts, train,valid,test, such as 1000,100,100", param, ctx)
        return tuple(int(part) for part in parts)

"""``grpe``: the command group. Commands load torch, dgl and rdkit only when they run."""

import click

from grpe_dgl import __version__

from .datasets import datasets_command
from .errors import Commands
from .evaluate import evaluate_command
from .export import export_command
from .finetune import finetune_command
from .fingerprint import fingerprint_command
from .import_official import import_command
from .info import info_command
from .predict import predict_command
from .preprocess import preprocess_command
from .preprocess_csv import csv_command
from .recipes import recipes_command
from .train import train_command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="grpe")
def main() -> None:
    """Graph transformers with relative positional encoding (GRPE)."""


for command in (
    preprocess_command,
    datasets_command,
    info_command,
    recipes_command,
    train_command,
    finetune_command,
    evaluate_command,
    predict_command,
    fingerprint_command,
    import_command,
    export_command,
):
    main.add_command(command)
preprocess_command.add_command(csv_command)

"""``grpe``: the command group. Commands load torch, dgl and rdkit only when they run."""

import click

from grpe_dgl import __version__

from .commands.attention import attention_command
from .commands.compare import compare_command
from .commands.datasets import datasets_command
from .commands.evaluate import evaluate_command
from .commands.explain import explain_command
from .commands.export import export_command
from .commands.finetune import finetune_command
from .commands.fingerprint import fingerprint_command
from .commands.fit import fit_command
from .commands.import_official import import_command
from .commands.info import info_command
from .commands.predict import predict_command
from .commands.preprocess import preprocess_command
from .commands.preprocess_csv import csv_command
from .commands.pretrain import pretrain_command
from .commands.recipes import recipes_command
from .commands.report import report_command
from .commands.train import train_command
from .commands.tune import tune_command
from .support.errors import Commands


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="grpe")
def main() -> None:
    """Graph transformers with relative positional encoding (GRPE)."""


for command in (
    preprocess_command,
    datasets_command,
    info_command,
    recipes_command,
    fit_command,
    train_command,
    pretrain_command,
    finetune_command,
    tune_command,
    evaluate_command,
    compare_command,
    report_command,
    predict_command,
    fingerprint_command,
    attention_command,
    explain_command,
    import_command,
    export_command,
):
    main.add_command(command)
preprocess_command.add_command(csv_command)

"""``grpe``: the command group. Commands load torch, dgl and rdkit only when they run."""

import click

from grpe_dgl import __version__

from .recipes import recipes


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="grpe")
def main() -> None:
    """Graph transformers with relative positional encoding (GRPE)."""


main.add_command(recipes)

"""``grpe pretrain``: train an encoder on molecules without labels."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grpe_dgl.errors import InputError
from grpe_dgl.messages import counted

from ..support.duration import Duration
from ..support.first_process import say
from ..support.make_dataset import make_dataset
from ..support.options import device_option
from ..support.output_file import check_output
from ..support.show_experiment import show_experiment
from ..support.training_options import TrainingOptions, recipe_overrides

if TYPE_CHECKING:
    from grpe_dgl.recipe import Recipe

RECIPE = "pretrain"


@click.command("pretrain")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The checkpoint to write.")
@click.option("--smiles", help="The column of the molecules.  [default: smiles, SMILES, canonical_smiles, ...]")
@click.option("--recipe", default=RECIPE, show_default=True, help="A recipe with a section pretraining.")
@click.option("--work", type=click.Path(file_okay=False, path_type=Path),
              help="Folder of the dataset and the run.  [default: --out without its ending, with _run]")  # fmt: skip
@click.option(
    "--workers", type=click.IntRange(min=1), help="Processes that prepare molecules.  [default: one per core]"
)
@click.option("--force", is_flag=True, help="Overwrite --out.")
@click.option("--resume", is_flag=True, help="Continue the run in --work.")
@click.option("--seed", type=int, help="training.seed.")
@click.option("--epochs", type=int, help="training.epochs: the length of the schedule.")
@click.option("--batch-size", type=int, help="training.batch_size.")
@click.option("--learning-rate", type=float, help="training.learning_rate: the peak.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change any key of the recipe.")
@device_option
@click.option("--max-time", type=Duration(), help="Save and stop after this time: 90s, 45m, 2h, 1h30m.")
@click.option("--tensorboard", is_flag=True, help="Also write TensorBoard's files into the run's folder.")
def pretrain_command(
    files: tuple[Path, ...],
    out: Path,
    smiles: str | None,
    recipe: str,
    work: Path | None,
    workers: int | None,
    force: bool,
    **given: Any,
) -> None:
    """Train an encoder on molecules without labels.

    FILE is a table of SMILES or a folder of tables. The targets are RDKit's descriptors. `grpe finetune --from CKPT
    DATASET` then trains the encoder further on labelled data.
    """
    for path in files:
        if not path.exists():
            raise InputError(f"{path} cannot be read: No such file or directory")
    check_output(out, force=force or given["resume"], suffixes=(".ckpt",))

    from grpe_dgl.data import load
    from grpe_dgl.data.sources.pretraining import pretraining_source
    from grpe_dgl.io.workers import cores
    from grpe_dgl.recipe import load_recipe
    from grpe_dgl.recipe.load import read_recipe
    from grpe_dgl.workflows.pretrain import MEASURED, pretraining_provenance, pretraining_request, save_pretrained

    options = TrainingOptions(data=Path(), raw_dir=None, out=None, variant=None, runs=None, precision=None, **given)
    chosen = load_recipe(recipe, recipe_overrides(options, read_recipe(recipe).get("training")))
    if chosen.variants or chosen.training.runs > 1:
        raise click.UsageError(f"the recipe {recipe} has several runs; accepted: one model")
    chosen = chosen.override({"dataset": out.stem})
    request = pretraining_request(chosen, files, name=out.stem, smiles=smiles)
    folder = work or out.with_name(f"{out.stem}_run")
    processes = workers or cores()

    def make() -> Any:
        source, notes = pretraining_source(request, processes)
        for note in notes:
            say(note)
        return source

    make_dataset(folder / "data", request.settings(), make, workers=processes, strict=False, force=False)
    data = load(folder / "data")
    chosen = _shorten_warmup(chosen, len(data.train))
    start = pretraining_provenance(data)
    show_experiment(chosen, folder / "data", folder / "run", options, start=start, measured=MEASURED)
    saved = save_pretrained(folder / "run", out)
    assert saved.coverage is not None
    say(f"{out}: {out.stat().st_size / 1e6:.1f} MB, trained on {saved.coverage.text()}")


def _shorten_warmup(recipe: "Recipe", molecules: int) -> "Recipe":
    """Return the recipe with a warm-up of at most a tenth of its schedule, which is short for few molecules."""
    training = recipe.training
    if training.warmup_updates is None or training.epochs is None:
        return recipe
    most = training.epochs * -(-molecules // training.batch_size) // 10
    if training.warmup_updates <= most:
        return recipe
    say(f"warm-up: {counted(most, 'update')} instead of {training.warmup_updates}, a tenth of the schedule")
    return recipe.override({"training.warmup_updates": most})

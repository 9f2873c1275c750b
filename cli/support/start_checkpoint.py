"""The checkpoint that `grpe finetune` starts from, and where to find or how to make one that does not exist."""

import shlex
from pathlib import Path
from typing import Any

import click

from grpe_dgl.errors import InputError

from .options import CheckpointFile, checkpoint_of


class StartCheckpoint(CheckpointFile):
    """A checkpoint; if it does not exist, the error names the model of that name in ``runs/``, if there is one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        from grpe_dgl.pretrained import is_shipped, shipped_models

        path = Path(str(value))
        if is_shipped(path):
            return path
        if path.exists():
            return checkpoint_of(path)
        found = find_run(path.stem)
        instead = f"did you mean {found}?" if found is not None else _how_to_train(path.stem)
        shipped = ", ".join(f"`--from {name}`" for name in shipped_models())
        if shipped and path.name == str(path) and not path.suffix:
            instead += f" {shipped} starts from a shipped model."
        raise InputError(
            f"{path} does not exist; {instead} `grpe import WEIGHTS --heads HEADS --dataset DATASET --out "
            f"{shlex.quote(str(path))}` makes one of the authors' weights."
        )


def trained_model(recipe: str) -> Path:
    """Return the best model of a run of `recipe` in ``runs/``, or the name it would have as a file of its own."""
    name = recipe.removesuffix(".ckpt")
    return find_run(Path(name).name) or Path(f"{name}.ckpt")


def find_run(name: str) -> Path | None:
    """Return ``runs/NAME/best.ckpt``, or that of its first seed; None if there is neither."""
    folder = Path("runs") / name
    return next(
        (path for path in (folder / "best.ckpt", *sorted(folder.glob("seed-*/best.ckpt"))) if path.exists()), None
    )


def _how_to_train(name: str) -> str:
    from grpe_dgl.recipe import shipped_recipes

    return f"`grpe train {name}` trains such a model." if name in shipped_recipes() else "accepted: a checkpoint."

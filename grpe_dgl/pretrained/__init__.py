"""The trained models that come with grpe-dgl, by name; MODEL_CARD.md describes them."""

from importlib.resources import files
from pathlib import Path

from grpe_dgl.errors import InputError
from grpe_dgl.messages import nearest

SUFFIX = ".ckpt"


def shipped_models() -> list[str]:
    """Return the names of the models that come with grpe-dgl, sorted."""
    return sorted(Path(entry.name).stem for entry in files(__name__).iterdir() if entry.name.endswith(SUFFIX))


def is_shipped(model: str | Path) -> bool:
    """Whether `model` is the name of a shipped model; a file of that name in the present folder is taken instead."""
    return str(model) in shipped_models() and not Path(model).is_file()


def model_file(model: str | Path) -> Path:
    """Return the file of a shipped model, for its name, or the path as it is given.

    Raises an InputError that lists the names for a name without a folder and an ending that is neither a model nor a
    file.
    """
    path = Path(model)
    if is_shipped(model):
        return Path(str(files(__name__).joinpath(f"{model}{SUFFIX}")))
    if str(model) and path.name == str(model) and not path.suffix and not path.exists():
        names = shipped_models()
        raise InputError(
            f"{model}: there is no such file and no shipped model of that name{nearest(str(model), names)}; accepted: "
            f"a checkpoint, or {', '.join(names) or 'no name, as this installation has no shipped models'}"
        )
    return path

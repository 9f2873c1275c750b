"""Which checkpoints the folder of a run holds: one model, one for each seed, or one for each fold."""

import json
import re
from pathlib import Path

from grpe_dgl.errors import InputError
from grpe_dgl.messages import counted

BEST, RESULTS, FOLDS = "best.ckpt", "results.json", "folds.json"
_MEMBER = re.compile(r"(seed|fold)-(\d+)")
_REPEAT = re.compile(r"repeat-(\d+)")


def is_run_folder(path: Path) -> bool:
    """Whether `path` is the folder of a run, finished or not."""
    return path.is_dir() and (any((path / name).is_file() for name in ("recipe.yaml", BEST)) or bool(_members(path)))


def models_of(folder: Path) -> list[Path]:
    """Return the checkpoints of a finished run: its own, those of its seeds, or those of its folds.

    Raises an InputError for a folder that is no run, for one that is not finished and for one of several variants,
    which are different models.
    """
    if (folder / RESULTS).exists():
        return [_checkpoint(folder)]
    members = _members(folder)
    if not members:
        variants = sorted(path.name for path in folder.iterdir() if path.is_dir() and _members(path))
        if variants:
            raise InputError(
                f"{folder} has runs of several variants; accepted: the folder of one, such as {folder / variants[0]}"
            )
        if (folder / BEST).exists():
            raise InputError(
                f"{folder} is a run that is not finished: it has no {RESULTS}; its best model so far is {folder / BEST}"
            )
        raise InputError(f"{folder} is a folder without a trained model; accepted: a checkpoint, or a run's folder")
    unfinished = [path for path in members if not (path / RESULTS).exists()]
    planned = _planned(folder, len(members))
    if unfinished or planned > len(members):
        done = len(members) - len(unfinished)
        raise InputError(
            f"{folder} is not finished: {done} of {counted(planned, 'model')} are trained; accepted: a finished run, "
            "or one of its checkpoints"
        )
    return [_checkpoint(path) for path in members]


def _members(folder: Path) -> list[Path]:
    """Return the folders of the runs of an experiment or of the folds of a cross-validation, in order."""
    found: list[tuple[int, int, Path]] = []
    for path in folder.iterdir():
        if _MEMBER.fullmatch(path.name) and path.is_dir():
            found.append((0, _number(path), path))
        elif _REPEAT.fullmatch(path.name) and path.is_dir():
            found += [(_number(path), _number(fold), fold) for fold in path.iterdir() if _MEMBER.fullmatch(fold.name)]
    return [path for _, _, path in sorted(found)]


def _planned(folder: Path, found: int) -> int:
    """Return how many models a folder is to have: that of ``folds.json`` or, where there is none, as it has."""
    if not (folder / FOLDS).exists():
        return found
    try:
        plan = json.loads((folder / FOLDS).read_text(encoding="utf-8"))
        return int(plan["folds"]) * int(plan["repeats"])
    except (ValueError, TypeError, LookupError) as error:
        raise InputError(f"{folder / FOLDS} is damaged: {error}") from None


def _checkpoint(folder: Path) -> Path:
    if not (folder / BEST).exists():
        raise InputError(f"{folder} has no {BEST}: the model was removed")
    return folder / BEST


def _number(path: Path) -> int:
    return int(path.name.rsplit("-", 1)[1])

"""Find recipe files, shipped ones and the user's own, and parse their YAML."""

from importlib.resources import files
from pathlib import Path
from typing import Any, TypeGuard

from grpe_dgl.errors import InputError
from grpe_dgl.messages import nearest
from grpe_dgl.recipe.fields import describe
from grpe_dgl.recipe.safe_yaml import parse

PACKAGE = "grpe_dgl_recipes"
SUFFIXES = (".yaml", ".yml")


def is_shipped_name(recipe: str | Path) -> TypeGuard[str]:
    """Whether `recipe` is read as the name of a shipped recipe: a text without a folder and without ``.yaml``."""
    return isinstance(recipe, str) and Path(recipe).name == recipe and Path(recipe).suffix not in SUFFIXES


def shipped_instead(recipe: str | Path) -> str | Path:
    """Return the name of a shipped recipe for ``recipes/NAME.yaml`` if there is no such file, and `recipe` otherwise.

    So that commands written for a clone of the project, where shipped recipes are in ``recipes/``, work elsewhere too.
    """
    path = Path(recipe)
    in_clone = path.parent == Path("recipes") and path.suffix in SUFFIXES
    return path.stem if in_clone and path.stem in shipped_recipes() and not path.exists() else recipe


def recipe_text(recipe: str | Path) -> str:
    """Return the text of a recipe file as it stands, comments included.

    `recipe` is a path or a shipped name; see also `shipped_instead`.
    """
    recipe = shipped_instead(recipe)
    if is_shipped_name(recipe):
        if recipe not in shipped_recipes():
            raise InputError(
                f"{recipe!r} is not a shipped recipe{nearest(recipe, shipped_recipes())}; "
                f"accepted: a path to a YAML file, or {', '.join(shipped_recipes())}"
            )
        return files(PACKAGE).joinpath(f"{recipe}.yaml").read_text(encoding="utf-8")
    try:
        return Path(recipe).read_text(encoding="utf-8")
    except FileNotFoundError:
        stem = Path(recipe).stem
        close = f" ({stem} is a shipped recipe)" if stem in shipped_recipes() else ""
        accepted = f"a path to a YAML file, or {', '.join(shipped_recipes())}"
        raise InputError(f"{recipe}: there is no such file{close}; accepted: {accepted}") from None
    except UnicodeDecodeError:
        raise InputError(f"{recipe}: not a text file; accepted: a recipe in YAML") from None
    except OSError as error:
        raise InputError(f"{recipe}: cannot be read: {error.strerror}") from None
    except ValueError as error:  # a NUL character in the name
        raise InputError(f"{str(recipe)!r} cannot be the name of a file: {error}") from None


def read_yaml(text: str, *, source: str) -> dict[str, Any]:
    """Return the mapping that a YAML text holds; `source` names it in errors."""
    try:
        raw = parse(text)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    if not isinstance(raw, dict):
        raise InputError(f"{source}: the file contains {describe(raw)}; accepted: a mapping of keys to values")
    return raw


def shipped_recipes() -> list[str]:
    """Return the names of the recipes that come with grpe-dgl, sorted."""
    return sorted(Path(entry.name).stem for entry in files(PACKAGE).iterdir() if entry.name.endswith(".yaml"))

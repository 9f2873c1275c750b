"""Find recipe files, shipped ones and the user's own, and parse their YAML."""

from importlib.resources import files
from pathlib import Path
from typing import Any, TypeGuard

import yaml

from grpe_dgl.errors import InputError
from grpe_dgl.messages import nearest
from grpe_dgl.recipe.fields import describe

PACKAGE = "grpe_dgl_recipes"
SUFFIXES = (".yaml", ".yml")
MERGE = "tag:yaml.org,2002:merge"  # the key <<, which has no value of its own


class _StrictLoader(yaml.SafeLoader):
    """A safe loader that refuses duplicate keys, of which PyYAML would silently keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == MERGE:
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, (str, int, float, bool, type(None))):
                raise InputError(f"line {key_node.start_mark.line + 1}: a key is {key!r}; accepted: a text")
            if key in seen:
                raise InputError(f"line {key_node.start_mark.line + 1}: the key {key!r} is given twice")
            seen.add(key)
        return super().construct_mapping(node, deep)


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


def read_yaml(text: str, *, source: str) -> dict[str, Any]:
    """Return the mapping that a YAML text holds; `source` names it in errors."""
    loader = _StrictLoader(text)
    try:
        raw = loader.get_single_data()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark is not None else ""
        raise InputError(f"{source}: {line}not YAML: {getattr(error, 'problem', None) or error}") from None
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    finally:
        loader.dispose()
    if not isinstance(raw, dict):
        raise InputError(f"{source}: the file contains {describe(raw)}; accepted: a mapping of keys to values")
    return raw


def shipped_recipes() -> list[str]:
    """Return the names of the recipes that come with grpe-dgl, sorted."""
    return sorted(Path(entry.name).stem for entry in files(PACKAGE).iterdir() if entry.name.endswith(".yaml"))

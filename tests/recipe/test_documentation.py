"""docs/recipes.md says of every key what the code says."""

import dataclasses
import re
from pathlib import Path
from typing import get_type_hints

import pytest
import yaml

from grpe_dgl.models.grpe.settings import GRPESettings
from grpe_dgl.objectives import LOSSES_OF_KIND, METRICS_OF_KIND
from grpe_dgl.recipe import Flag, Paper, Recipe, TrainingRecipe, Variant, load_recipe
from grpe_dgl.recipe.fields import kind_of
from grpe_dgl.recipe.pretraining import PretrainingRecipe

TEXT = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text(encoding="utf-8")
SECTIONS = {
    "": Recipe,
    "model.": GRPESettings,
    "training.": TrainingRecipe,
    "pretraining.": PretrainingRecipe,
    "training.flag.": Flag,
    "paper.": Paper,
    "variants.NAME.": Variant,
}


def _default(field: dataclasses.Field) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return "`{}`"
    if field.default is dataclasses.MISSING:
        return "required"
    plain = list(field.default) if isinstance(field.default, tuple) else field.default
    return f"`{yaml.safe_dump(plain, default_flow_style=True).removesuffix(chr(10)).removesuffix('...').strip()}`"


def test_every_key_its_type_and_its_default():
    expected = {
        f"`{prefix}{field.name}`": (kind_of(get_type_hints(cls)[field.name]), _default(field))
        for prefix, cls in SECTIONS.items()
        for field in dataclasses.fields(cls)
    }
    rows = re.findall(r"^\| (`[^`]+`) \| ([^|]+) \| (`[^`]*`|required) \| [^|]+ \|$", TEXT, flags=re.MULTILINE)
    assert {key: (takes, default) for key, takes, default in rows} == expected


@pytest.mark.parametrize("kind", LOSSES_OF_KIND)
def test_losses_and_metrics_of_each_task(kind):
    losses, metrics = (", ".join(f"`{name}`" for name in of[kind]) for of in (LOSSES_OF_KIND, METRICS_OF_KIND))
    assert f"| {kind} | {losses} | {metrics} |" in TEXT


def test_the_examples_work(tmp_path):
    first, extending, variants, search = re.findall(r"```yaml\n(.*?)```", TEXT, flags=re.DOTALL)
    recipe = Recipe.from_dict({**yaml.safe_load(first), **yaml.safe_load(variants)})
    assert recipe.variant("L3").model.max_distance == 3 and recipe.variant("L3_slow").training.learning_rate == 1e-4
    assert len(Recipe.from_dict({**yaml.safe_load(first), **yaml.safe_load(search)}).search) == 4
    (tmp_path / "tiny.yaml").write_text(extending)
    tiny = load_recipe(tmp_path / "tiny.yaml")
    assert (tiny.dataset, tiny.model.layers, tiny.training.epochs, tiny.training.updates) == ("zinc", 4, 200, None)
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    exec(compile(code, "docs/recipes.md", "exec"), {})

"""Recipes: YAML files that are checked against typed dataclasses."""

from grpe_dgl.recipe.files import recipe_text, shipped_recipes
from grpe_dgl.recipe.load import load_recipe
from grpe_dgl.recipe.recipe import Paper, Recipe, Variant
from grpe_dgl.recipe.training import TrainingRecipe

__all__ = [
    "Paper",
    "Recipe",
    "TrainingRecipe",
    "Variant",
    "load_recipe",
    "recipe_text",
    "shipped_recipes",
]

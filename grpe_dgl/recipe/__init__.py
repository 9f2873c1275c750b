"""Recipes: YAML files that are checked against typed dataclasses."""

from grpe_dgl.recipe.files import recipe_text, shipped_recipes
from grpe_dgl.recipe.load import load_recipe
from grpe_dgl.recipe.recipe import Paper, Recipe, Variant
from grpe_dgl.recipe.training import Flag, TrainingRecipe

__all__ = [
    "Flag",
    "Paper",
    "Recipe",
    "TrainingRecipe",
    "Variant",
    "load_recipe",
    "recipe_text",
    "shipped_recipes",
]

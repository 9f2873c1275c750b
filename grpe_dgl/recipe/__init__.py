"""The typed recipe: what a YAML file may say, and how it is read."""

from grpe_dgl.recipe.files import load_recipe, recipe_text, shipped_recipes
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

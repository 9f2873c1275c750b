from pathlib import Path

from grpe_dgl.recipe import Recipe
from grpe_dgl.workflows.plan import plan
from tests.training.tiny import recipe


def test_one_run_is_in_the_folder_itself():
    (planned,) = plan(recipe(training__seed=5), Path("out"))
    assert (planned.folder, planned.variant, planned.title) == (Path("out"), None, "seed 5")


def test_seeds_count_up_from_the_recipes():
    planned = plan(recipe(training__seed=5, training__runs=3), Path("out"))
    assert [run.folder for run in planned] == [Path("out/seed-5"), Path("out/seed-6"), Path("out/seed-7")]
    assert [(run.recipe.training.seed, run.recipe.training.runs) for run in planned] == [(5, 1), (6, 1), (7, 1)]


def test_variants_have_folders_and_their_overrides():
    settings = recipe().to_dict()
    settings["variants"] = {
        "near": {"overrides": {"model.max_distance": 1}},
        "twice": {"overrides": {"training.runs": 2}},
    }
    planned = plan(Recipe.from_dict(settings), Path("out"))
    assert [str(run.folder) for run in planned] == ["out/near/seed-0", "out/twice/seed-0", "out/twice/seed-1"]
    assert [run.recipe.model.max_distance for run in planned] == [1, 5, 5]
    assert [run.title for run in planned] == ["near, seed 0", "twice, seed 0", "twice, seed 1"]
    assert not any(run.recipe.variants for run in planned)

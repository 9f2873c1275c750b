import json

import numpy as np
import pytest

import grpe_dgl
from grpe_dgl.errors import InputError
from grpe_dgl.workflows.fit import own_recipe
from tests.small_table import SMALL, frame


def test_a_frame_comes_back_as_a_frame_with_its_index(tmp_path):
    table = frame()
    table.loc["m3", "SMILES"] = "not a molecule"
    table.loc["m5", "size"] = None
    with pytest.warns(UserWarning, match=r"1 rows were not used: row m3: line 5: 'not a molecule' cannot be read"):
        model = grpe_dgl.fit(table, smiles="SMILES", target="size", settings=SMALL, epochs=2, out=tmp_path / "run")
    assert list(model.skipped) == ["m3"] and "cannot be read" in model.skipped["m3"]
    with pytest.warns(UserWarning, match=r"1 of 40 molecules have no prediction: row m3: 'not a molecule'"):
        found = model.predict(table)
    assert list(found.columns) == ["predicted_size"] and list(found.index) == list(table.index)
    assert found["predicted_size"].isna().tolist() == [name == "m3" for name in table.index]
    values = model.predict(["CCO", "c1ccccc1"])
    assert values.shape == (2, 1) and np.isfinite(values).all()
    assert np.array_equal(grpe_dgl.load(tmp_path / "run").predict(["CCO", "c1ccccc1"]), values)
    results = json.loads((tmp_path / "run/results.json").read_text())
    assert results["epochs"] == 2 and set(results["splits"]) == {"train", "valid", "test"}
    model.save(tmp_path / "saved")
    assert np.array_equal(grpe_dgl.load(tmp_path / "saved").predict(["CCO", "c1ccccc1"]), values)


def test_named_classes_and_all_rows(tmp_path):
    model = grpe_dgl.fit(frame(), "SMILES", "kind", settings=SMALL, epochs=1, fractions=(1, 0, 0), seed=3)
    assert model.schema.task.positive == ("ring",) and model.members[0].checkpoint.recipe.training.seed == 3
    found = model.predict(frame()[["SMILES"]])
    assert list(found.columns) == ["probability_kind_ring"] and found["probability_kind_ring"].between(0, 1).all()


def test_weights_of_rows():
    table = frame()
    table["weight"] = [1.0, 0.0] * 20
    options = {"smiles": "SMILES", "target": "size", "settings": SMALL, "epochs": 1, "fractions": (1, 0, 0)}
    weighted = grpe_dgl.fit(table, weights="weight", **options).predict(["CCO"])
    assert weighted != pytest.approx(grpe_dgl.fit(table, **options).predict(["CCO"]), abs=1e-6)
    with pytest.raises(InputError, match="0 columns 'other'"):
        grpe_dgl.fit(table, weights="other", **options)
    with pytest.raises(InputError, match="column 'weight': '-1.0'; accepted for a weight: a number, 0 or more"):
        grpe_dgl.fit(table.assign(weight=-1.0), weights="weight", **options)


def test_same_seed_same_model_and_resume_is_needed(tmp_path):
    options = {"smiles": "SMILES", "target": ["size"], "settings": SMALL, "epochs": 1}
    first = grpe_dgl.fit(frame(), out=tmp_path / "run", **options)
    again = grpe_dgl.fit(frame(), **options)
    assert np.array_equal(first.predict(["CCO"]), again.predict(["CCO"]))
    with pytest.raises(InputError, match="run exists already, and resume is not set"):
        grpe_dgl.fit(frame(), out=tmp_path / "run", **options)
    resumed = grpe_dgl.fit(frame(), out=tmp_path / "run", resume=True, **options)
    assert np.array_equal(first.predict(["CCO"]), resumed.predict(["CCO"]))
    with pytest.raises(InputError, match="made with other settings: checksum"):
        grpe_dgl.fit(frame(30), out=tmp_path / "run", resume=True, **options)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"table": frame().drop(columns="size")}, "0 columns 'size'; it has 'SMILES', 'kind'"),
        ({"table": frame()[:0]}, "the table has no rows"),
        ({"table": ["CCO"]}, "table is a list; accepted: a DataFrame"),
        ({"table": frame(), "target": ()}, "no target"),
        ({"table": frame(), "split": "time"}, "split is 'time'; accepted: random"),
        ({"table": frame(), "settings": {"model.layer": 2}}, "model.layer"),
        ({"table": frame(), "recipe": "zinc_components"}, "the recipe has the variants"),
    ],
)
def test_refused(given, message):
    with pytest.raises(InputError, match=message):
        grpe_dgl.fit(**{"smiles": "SMILES", "target": "size", **given})


def test_own_recipe_keeps_the_share_of_the_warm_up():
    recipe = own_recipe("property", "mine", epochs=20, seed=4, settings=["model.layers=2"])
    assert (recipe.training.epochs, recipe.training.warmup_epochs, recipe.training.seed) == (20, 2, 4)
    assert recipe.dataset == "mine" and recipe.model.layers == 2 and recipe.paper is None
    assert own_recipe(recipe, "mine", epochs=10).training.warmup_epochs == 1


def test_errors_and_notes_about_a_frame_name_no_temporary_file(tmp_path):
    table = frame()
    table["text"] = ["<1", *map(str, table["size"][1:])]
    with pytest.raises(InputError, match=r"^the table, row 0, column 'text': '<1' is a bound"):
        grpe_dgl.fit(table, smiles="smiles", target="text", settings=SMALL)
    table["SMILES"] = "x"
    with pytest.raises(InputError, match=r"no row could be used.*\n  row 0: 'x' cannot be read"):
        grpe_dgl.fit(table, target="size", settings=SMALL)
    for name, message in ((None, "a column is called None"), (1.5, "accepted: a text, or a whole number")):
        with pytest.raises(InputError, match=message):
            grpe_dgl.fit(table, target=[name], settings=SMALL)


def test_numbered_columns_and_files_with_decimal_commas(tmp_path):
    table = frame().rename(columns={"size": 0})
    model = grpe_dgl.fit(table, target=0, settings=SMALL, epochs=1)
    assert list(model.predict(table).columns) == ["predicted_0"]
    assert "task inferred from the targets: regression" in model.notes
    text = table.assign(y=[f"{value:.1f}".replace(".", ",") for value in table[0]])[["SMILES", "y"]]
    text.to_csv(tmp_path / "t.csv", sep=";", index=False)
    same = grpe_dgl.fit(tmp_path / "t.csv", target="y", decimal=",", settings=SMALL, epochs=1)
    assert np.array_equal(same.predict(["CCO"]), model.predict(["CCO"]))


def test_molecules_are_compared_with_those_of_training(tmp_path):
    table = frame(12)
    model = grpe_dgl.fit(table, target="size", settings=SMALL, epochs=1, fractions=(1, 0, 0))
    with pytest.warns(UserWarning, match="1 of 3 molecules"):
        found = model.predict(["x", table["SMILES"].iloc[3], "[Na+].[Cl-]"], domain=True)
    assert list(found.columns) == [
        "predicted_size",
        "nearest_similarity",
        "unseen_element",
        "unseen_size",
        "unseen_charge",
    ]
    assert found.iloc[0].isna().all() and found["nearest_similarity"].iloc[1] == 1
    assert found[["unseen_element", "unseen_charge"]].iloc[2].tolist() == [1, 0]

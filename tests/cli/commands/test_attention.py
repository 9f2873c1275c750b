import csv
import json
import re

import pytest

from tests import trained
from tests.cli.invoke import grpe
from tests.training.tiny import recipe, write_dataset

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


@pytest.fixture
def model(tmp_path):
    return trained.save(tmp_path / "model.ckpt")


@pytest.fixture
def tiny(tmp_path):
    """A folder with a trained model of graphs that are no molecules, and its dataset."""
    from grpe_dgl.data import load
    from grpe_dgl.training.run import run

    write_dataset(tmp_path / "data" / "tiny", "regression")
    chosen = recipe(training__epochs=1, training__warmup_epochs=0)
    run(chosen, load(tmp_path / "data" / "tiny", view=chosen.model.view), tmp_path / "run")
    return tmp_path


def page_data(path):
    return json.loads(re.search(r'id="data">(.*?)</script>', path.read_text(), re.S)[1])


def test_a_page_has_adjacency_a_map_per_layer_and_the_molecule(model, tmp_path):
    result = grpe("attention", model, ASPIRIN, "--out", tmp_path / "a.html")
    assert result.output == f"3 layers, 14 nodes: {tmp_path / 'a.html'}\n"
    text = (tmp_path / "a.html").read_text()
    data = page_data(tmp_path / "a.html")
    assert data["labels"][:3] == ["VN", "C0", "C1"] and len(data["labels"]) == 14
    assert [len(layer["maps"]) for layer in data["layers"]] == [1, 1, 1] and data["adjacency"]["size"] == 14
    assert text.count("<svg") == 4  # the mean of all layers and each of them
    assert "://" not in re.sub(r"http://www\.(w3|rdkit)\.org", "", text)
    grpe("attention", model, ASPIRIN, "--out", tmp_path / "a.html", "--heads", "--force")
    assert [len(layer["maps"]) for layer in page_data(tmp_path / "a.html")["layers"]] == [5, 5, 5]


def test_pictures(model, tmp_path):
    grpe("attention", model, ASPIRIN, "--out", tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    grpe("attention", model, "C[C@H](F)Cl", "--out", tmp_path / "a.svg", "--heads")
    text = (tmp_path / "a.svg").read_text()
    assert text.count("<svg") == 2 and text.count("</svg>") == 2  # the molecule's own inside of the figure's


def test_a_graph_of_a_dataset_and_a_summary(tiny):
    grpe("attention", "run/best.ckpt", "--dataset", "data/tiny", "--index", 3, "--out", "g.png", folder=tiny)
    result = grpe("attention", "run/best.ckpt", "--index", 1, "--split", "test", "--out", "g.html", folder=tiny)
    assert "2 layers" in result.output
    assert "<h1>Attention: <span>graph 25 of tiny</span></h1>" in (tiny / "g.html").read_text()
    result = grpe("attention", "run/best.ckpt", "--summary", "--out", "s.csv", folder=tiny)
    assert "run/best.ckpt on data/tiny valid (4 graphs)" in result.output and "virtual node" in result.output
    rows = list(csv.DictReader((tiny / "s.csv").read_text().splitlines()))
    for layer in ("1", "2"):
        assert sum(float(row["share"]) for row in rows if row["layer"] == layer) == pytest.approx(1, abs=1e-5)
    grpe("attention", "run/best.ckpt", "--summary", "--split", "test", "--out", "s.json", folder=tiny)
    assert json.loads((tiny / "s.json").read_text())["graphs"] == 4
    grpe("attention", "run/best.ckpt", "--summary", "--out", "s.svg", folder=tiny)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{model}", "CCO"], 2, "--out is missing"),
        (["{model}", "CCO", "--out", "a.pdf"], 2, "accepted: a name that ends in .html, .png, .svg"),
        (["{model}", "--out", "a.html"], 2, "give SMILES, or --index with --dataset, or --summary"),
        (["{model}", "CCO", "--index", "1", "--out", "a.html"], 2, "give SMILES, or --index"),
        (["{model}", "CCO", "--split", "test", "--out", "a.html"], 2, "not with SMILES"),
        (["{model}", "CCO", "--summary"], 2, "--summary goes with neither SMILES"),
        (["{model}", "C(", "--out", "a.html"], 1, "'C(' cannot be read"),
        (["{model}", "--index", "1", "--dataset", "nope", "--out", "a.html"], 1, "there is no dataset 'nope'"),
        (["none.ckpt", "CCO", "--out", "a.html"], 1, "none.ckpt cannot be read"),
        (["{model}", "CCO", "--out", "nowhere/a.html"], 1, "there is no folder nowhere"),
    ],
)
def test_errors(model, tmp_path, arguments, code, message):
    words = [word.format(model=model) for word in arguments]
    assert message in grpe("attention", *words, folder=tmp_path, code=code).output


def test_errors_of_datasets_and_families(tiny, tmp_path):
    def fails(*words):
        return grpe("attention", *words, folder=tiny, code=1).output

    assert "graph 28 of data/tiny was asked for; accepted: 0..27" in fails(
        "run/best.ckpt", "--index", 28, "--out", "a.png"
    )
    assert "has no split 'dev'" in fails("run/best.ckpt", "--summary", "--split", "dev")
    assert "not made of SMILES" in fails("run/best.ckpt", "CCO", "--out", "a.png")
    model = {"name": "gin", "layers": 2, "hidden_size": 8}
    gin = trained.checkpoint_of(model)
    gin.save(tmp_path / "gin.ckpt")
    assert "GIN is a family without attention; accepted: grpe, gat" in fails("gin.ckpt", "CCO", "--out", "a.png")


def test_an_existing_file_is_kept_and_hostile_names_stay_text(model, tmp_path):
    (tmp_path / "a.html").write_text("mine")
    assert "--force overwrites it" in grpe("attention", model, "CCO", "--out", tmp_path / "a.html", code=1).output
    assert (tmp_path / "a.html").read_text() == "mine"
    hostile = tmp_path / "<script>alert(1)<"
    hostile.mkdir()
    model.rename(hostile / "m.ckpt")
    grpe("attention", hostile / "m.ckpt", "CCO", "--out", tmp_path / "b.html")
    assert "<script>alert" not in (tmp_path / "b.html").read_text()

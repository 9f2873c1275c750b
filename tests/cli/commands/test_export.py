import json

import pytest

from tests import trained
from tests.cli.invoke import grpe


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """model.ckpt and its export as pt2 in model/."""
    folder = tmp_path_factory.mktemp("export")
    trained.save(folder / "model.ckpt")
    result = grpe("export", "model.ckpt", "--format", "pt2", "--out", "model", folder=folder)
    assert "model/model.pt2: dynamic batch and nodes; " in result.stdout
    assert "model/model.json: inputs, relations, vocabulary and task\n" in result.stdout
    return folder


def test_writes_the_model_and_its_description(folder):
    assert sorted(path.name for path in (folder / "model").iterdir()) == ["model.json", "model.pt2"]
    assert json.loads((folder / "model" / "model.json").read_text())["task"]["targets"] == ["logS"]


def test_an_existing_export_is_kept(folder):
    before = (folder / "model" / "model.pt2").read_bytes()
    result = grpe("export", "model.ckpt", "--format", "pt2", "--out", "model", folder=folder, code=1)
    assert result.stderr.endswith("Error: model exists already, and force is not set; --force replaces it\n")
    assert (folder / "model" / "model.pt2").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["none.ckpt", "--out", "new"], 1, "none.ckpt cannot be read: No such file"),
        (["notes.txt", "--out", "new"], 1, "notes.txt is not a checkpoint"),
        (["model.ckpt", "--out", "notes.txt"], 1, "notes.txt exists and is not a folder"),
        (["model.ckpt", "--out", "."], 1, "which no export made; accepted: a new or an empty folder"),
        (["model.ckpt", "--format", "tf", "--out", "new"], 2, "'tf' is not one of 'onnx', 'pt2'"),
        (["model.ckpt"], 2, "Missing option '--out'"),
    ],
)
def test_errors(folder, words, code, message):
    (folder / "notes.txt").write_text("mine")
    assert message in grpe("export", *words, folder=folder, code=code).stderr
    assert (folder / "notes.txt").read_text() == "mine" and not (folder / "new").exists()

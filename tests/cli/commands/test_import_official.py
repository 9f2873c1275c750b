import pytest
import torch

from grpe_dgl.checkpoint.file import load_checkpoint
from tests.cli.invoke import invoke
from tests.official.random_state import random_state


def grpe_import(*arguments):
    return invoke("import", *arguments)


@pytest.fixture
def weights(tmp_path):
    file = tmp_path / "weights.pt"
    torch.save(random_state(node_rows=25, codes=10, outputs=1, max_hop=5), file)
    return file


def test_makes_a_checkpoint(weights, tmp_path):
    out = tmp_path / "zinc.ckpt"
    result = grpe_import(weights, "--heads", 3, "--dataset", "zinc", "--out", out)
    assert result.exit_code == 0, result.output
    assert "2 layers of 12, FFN 20, 3 heads, max_distance 4, key_term self" in result.output
    assert "initialised to zero, as the file has no row for them (4):\n  node value 24\n" in result.output
    saved = load_checkpoint(out)
    assert saved.recipe.model.key_term == "self" and saved.recipe.dataset == "zinc"
    assert saved.schema.vocabulary == "zinc" and saved.schema.task.targets == ("constrained solubility",)
    assert saved.provenance["imported_from"] == "weights.pt" and len(saved.provenance["sha256"]) == 64
    assert "by the authors; their file has no settings" in invoke("info", out).output
    model = saved.model()
    expected = torch.load(weights, weights_only=True)["linear.weight"]
    torch.testing.assert_close(model.head[0].weight.detach(), expected.float())
    again = grpe_import(weights, "--heads", 3, "--dataset", "zinc", "--out", out)
    assert again.exit_code == 1 and "exists already; --force overwrites it" in again.output
    assert grpe_import(weights, "--heads", 3, "--dataset", "zinc", "--out", out, "--force").exit_code == 0


def test_a_state_dict_inside_a_dict(tmp_path):
    file, out = tmp_path / "wrapped.pt", tmp_path / "x.ckpt"
    torch.save({"epoch": 3, "state_dict": random_state(node_rows=4609, codes=30, outputs=1)}, file)
    result = grpe_import(file, "--heads", 3, "--dataset", "pcqm4mv2", "--out", out)
    assert result.exit_code == 0, result.output
    assert "(bond type 4, stereo 5, conjugated 1)" in result.output
    assert load_checkpoint(out).recipe.training.loss == "l1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--heads", 3, "--dataset", "nothing"], "there is no dataset 'nothing'"),
        (["--heads", 5, "--dataset", "zinc"], "num_heads is 5"),
        (["--heads", 3, "--dataset", "molpcba"], "25 rows, but one for the vocabulary ogb has 4609;"),
        (["--heads", 3, "--dataset", "pattern"], "25 rows, but one for the vocabulary pattern has 4;"),
    ],
)
def test_errors(weights, tmp_path, arguments, message):
    out = tmp_path / "x.ckpt"
    result = grpe_import(weights, *arguments, "--out", out)
    assert result.exit_code == 1 and message in result.output
    assert not out.exists()


def test_outputs_of_another_dataset(tmp_path):
    file, out = tmp_path / "x.pt", tmp_path / "x.ckpt"
    torch.save(random_state(node_rows=4609, codes=30, outputs=2), file)
    result = grpe_import(file, "--heads", 3, "--dataset", "molhiv", "--out", out)
    assert result.exit_code == 1 and "has 2 outputs, but ogbg-molhiv needs 1" in result.output
    assert not out.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"text", "is not a file of torch"),
        ({"a": torch.zeros(1)}, "has no key like layers.0"),
        ({"a": pytest.raises}, "holds more than tensors (_pytest.raises.raises) and is not loaded"),
    ],
)
def test_other_files(tmp_path, content, message):
    file, out = tmp_path / "x.pt", tmp_path / "x.ckpt"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        torch.save(content, file)
    result = grpe_import(file, "--heads", 3, "--dataset", "zinc", "--out", out)
    assert result.exit_code == 1 and message in result.output and not out.exists()


def test_usage(weights, tmp_path):
    assert grpe_import(weights, "--dataset", "zinc", "--out", "x").exit_code == 2
    missing = grpe_import(tmp_path / "none.pt", "--heads", 3, "--dataset", "zinc", "--out", tmp_path / "x.ckpt")
    assert missing.exit_code == 1 and "none.pt cannot be read: No such file" in missing.output
    nowhere = grpe_import(weights, "--heads", 3, "--dataset", "zinc", "--out", tmp_path / "none" / "x.ckpt")
    assert nowhere.exit_code == 1 and "there is no folder" in nowhere.output
    device = grpe_import(weights, "--heads", 3, "--dataset", "zinc", "--out", "/dev/null", "--force")
    assert device.exit_code == 1 and "/dev/null is not an ordinary file" in device.output

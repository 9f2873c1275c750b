import dataclasses
import json

import pytest

from grpe_dgl.checkpoint.file import load_checkpoint
from tests.cli.invoke import grpe, grpe_in


def test_describes_a_dataset(pattern):
    result = grpe("info", pattern)
    lines = result.stdout.splitlines()
    assert lines[0] == "dataset       pattern (PATTERN, generated with seed 5)"
    assert lines[1] == "task          multiclass per node, 2 classes: pattern"
    assert "splits        train 3, valid 1, test 1" in lines
    assert "node features 1 column of 3 values, vocabulary pattern" in lines


def test_json(pattern):
    content = json.loads(grpe("info", pattern, "--json").stdout)
    assert content["format_version"] == 2 and content["num_graphs"] == 5 and content["verified"] is False
    assert content["num_bytes"] == sum(file.stat().st_size for file in pattern.glob("*.bin"))
    assert json.loads(grpe("info", pattern, "--json", "--verify").stdout)["verified"] is True


def test_verify_finds_a_changed_byte(pattern):
    assert grpe("info", pattern, "--verify").stdout.splitlines()[-1].startswith("verified")
    file = pattern / "label.bin"
    content = file.read_bytes()
    file.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    try:
        grpe("info", pattern)
        result = grpe("info", pattern, "--verify", code=1)
        assert "label.bin (the SHA-256 is not" in result.stderr
    finally:
        file.write_bytes(content)


def test_no_dataset(tmp_path):
    result = grpe("info", tmp_path / "nothing", code=1)
    assert result.stderr == f"Error: {tmp_path}/nothing: there is no such dataset or checkpoint\n"
    empty = grpe("info", tmp_path, code=1)
    found = "is not a dataset: found a folder without manifest.json; make one with `grpe preprocess`"
    assert empty.stderr == f"Error: {tmp_path} {found}\n"
    assert "give PATH, a dataset's folder or a checkpoint; or --system" in grpe("info", code=2).stderr


def test_info_of_a_checkpoint(folder):
    grpe_in(folder, "train", "tiny.yaml", "--out", "first")
    said = grpe_in(folder, "info", "first/best.ckpt")
    assert "2 layers of 16, FFN 16, 2 heads, max_distance 5, key_term neighbour" in said
    assert "regression per graph: level" in said and "standardised by mean" in said and "valid_mae" in said
    content = json.loads(grpe_in(folder, "info", "first/last.ckpt", "--json"))
    assert content["resumable"] and content["recipe"]["model"]["layers"] == 2 and content["parameters"] > 1000
    assert "goes with a dataset" in grpe_in(folder, "info", "first/best.ckpt", "--verify", code=2)
    assert grpe_in(folder, "info", "first") == grpe_in(folder, "info", "first/best.ckpt")
    assert "none.ckpt: there is no such dataset or checkpoint" in grpe_in(folder, "info", "none.ckpt", code=1)
    lost = load_checkpoint(folder / "first/best.ckpt")
    dataclasses.replace(lost, metrics={"valid_mae": float("nan")}).save(folder / "nan.ckpt")
    assert (
        json.loads(grpe_in(folder, "info", "nan.ckpt", "--json"), parse_constant=pytest.fail)["metrics"]["valid_mae"]
        is None
    )
    assert "is not a checkpoint" in grpe_in(folder, "info", "tiny.yaml", code=1)


def test_describes_the_installation():
    import torch

    result = grpe("info", "--system")
    lines = dict(line.split(maxsplit=1) for line in result.stdout.replace("kernel cache", "cache").splitlines())
    torch_version = torch.__version__.partition("+")[0]  # the rest is not in the metadata of every build
    assert f"torch {torch_version}" in lines["versions"] and "dgl " in lines["versions"]
    assert lines["devices"].startswith("cpu") and lines["DGL"].startswith("runs on")
    assert "cores, torch" in lines["threads"] and lines["cache"]
    content = json.loads(grpe("info", "--system", "--json").stdout)
    assert content["versions"]["torch"].partition("+")[0] == torch_version and content["dgl_cuda"] in (True, False)


def test_system_goes_alone_and_a_path_is_needed_otherwise(pattern):
    assert "--system goes with neither PATH nor --verify" in grpe("info", "--system", pattern, code=2).output
    assert "or --system" in grpe("info", code=2).output

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from grpe_dgl_cli.main import main


def run(*arguments: object):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def pattern(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    result = run("preprocess", "pattern", "--generate", "--graphs", "3,1,1", "--seed", "5", "--data", folder)
    assert result.exit_code == 0
    return folder / "pattern"


def test_describes_a_dataset(pattern):
    result = run("info", pattern)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "dataset       pattern (PATTERN, generated with seed 5)"
    assert lines[1] == "task          multiclass per node, 2 classes: pattern"
    assert "splits        train 3, valid 1, test 1" in lines
    assert "node features 1 column of 3 values, vocabulary pattern" in lines


def test_json(pattern):
    content = json.loads(run("info", pattern, "--json").stdout)
    assert content["format_version"] == 2 and content["num_graphs"] == 5 and content["verified"] is False
    assert content["num_bytes"] == sum(file.stat().st_size for file in pattern.glob("*.bin"))
    assert json.loads(run("info", pattern, "--json", "--verify").stdout)["verified"] is True


def test_verify_finds_a_changed_byte(pattern):
    assert run("info", pattern, "--verify").stdout.splitlines()[-1].startswith("verified")
    file = pattern / "label.bin"
    content = file.read_bytes()
    file.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    try:
        assert run("info", pattern).exit_code == 0
        result = run("info", pattern, "--verify")
        assert result.exit_code == 1 and "label.bin (the SHA-256 is not" in result.stderr
    finally:
        file.write_bytes(content)


def test_no_dataset(tmp_path):
    result = run("info", tmp_path / "nothing")
    assert result.exit_code == 1
    assert result.stderr == f"Error: {tmp_path}/nothing: there is no such dataset or checkpoint\n"
    empty = run("info", tmp_path)
    assert empty.exit_code == 1 and "is not a dataset" in empty.stderr
    assert run("info").exit_code == 2


def test_datasets_lists_what_is_there(pattern, tmp_path):
    result = run("datasets", "--data", pattern.parent)
    assert result.exit_code == 0
    assert "  zinc " in result.stdout and "(or --generate)" in result.stdout
    last = result.stdout.splitlines()[-1]
    assert last == "  pattern  PATTERN, generated with seed 5: 5 graphs (train 3, valid 1, test 1)"
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{}")
    assert "  broken  unusable: " in run("datasets", "--data", tmp_path).stdout
    assert run("datasets", "--data", tmp_path / "none").stdout.endswith("none: none yet\n")

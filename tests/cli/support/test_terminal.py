import re
from pathlib import Path

import grpe_dgl_cli
from grpe_dgl_cli.support.terminal import printable
from tests.cli.invoke import invoke

HOSTILE = "\x1b]0;owned\x07\x1b[2J"


def test_control_characters_become_escapes():
    assert printable("ä 分子 ok\n\tindented") == "ä 分子 ok\n\tindented"
    assert printable(f"a{HOSTILE}b") == r"a\x1b]0;owned\x07\x1b[2Jb"
    assert printable("a\x9b31mb\x7f\x00") == r"a\x9b31mb\x7f\x00"
    assert printable("a\u202eb\u2028") == r"a\u202eb\u2028"  # text that runs backwards, and a hidden line break


def test_files_cannot_control_the_terminal(tmp_path):
    (tmp_path / "table.csv").write_text(f"smiles,y{HOSTILE}\nC,1\n")
    (tmp_path / "recipe.yaml").write_text('dataset: zinc\nmodel: {"\\e[2J": 3}\ntraining: {batch_size: 1, epochs: 1}\n')
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "manifest.json").write_text('{"format": "grpe-dgl dataset", "format_version": "\\u001b[2J"}')
    for words in (
        ("preprocess", "csv", tmp_path / "table.csv", "--target", "x"),
        ("train", tmp_path / "recipe.yaml"),
        ("recipes", "show", tmp_path / "recipe.yaml"),
        ("info", tmp_path / "data"),
    ):
        result = invoke(*words)
        assert "\x1b" not in result.output and "\x07" not in result.output, words


def test_commands_print_with_echo():
    """click's own `echo` is called in one file, so that no message goes around `printable`."""
    folder = Path(grpe_dgl_cli.__file__).parent
    calls = {file.name for file in folder.rglob("*.py") if re.search(r"click\.s?echo\(", file.read_text())}
    assert calls == {"terminal.py"}

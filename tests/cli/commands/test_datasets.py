from tests.cli.invoke import grpe


def test_datasets_lists_what_is_there(pattern):
    result = grpe("datasets", "--data", pattern.parent)
    assert "  zinc " in result.stdout and "(or with --generate)" in result.stdout
    last = result.stdout.splitlines()[-1]
    assert last == "  pattern  PATTERN, generated with seed 5: 5 graphs (train 3, valid 1, test 1)"


def test_a_broken_dataset_is_listed_as_such(tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{}")
    assert "  broken  unusable: " in grpe("datasets", "--data", tmp_path).stdout


def test_none(tmp_path):
    assert grpe("datasets", "--data", tmp_path / "none").stdout.endswith("none: none yet\n")


def test_usage(tmp_path):
    (tmp_path / "file").write_text("")
    assert "is a file" in grpe("datasets", "--data", tmp_path / "file", code=2).stderr
    assert "Got unexpected extra argument (zinc)" in grpe("datasets", "zinc", code=2).stderr

import pytest

from tests.cli.invoke import grpe
from tests.training.tiny import recipe, write_dataset


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """data/{tiny,nodes,three} (regression, multiclass per node, three binary targets), tiny.yaml and any.yaml."""
    folder = tmp_path_factory.mktemp("experiments")
    write_dataset(folder / "data" / "tiny", "regression")
    write_dataset(folder / "data" / "nodes", "multiclass")
    write_dataset(folder / "data" / "three", "binary", valid_labels=[[0, 1, 0], [1, 1, 1]] * 2)
    (folder / "tiny.yaml").write_text(recipe().to_yaml())
    (folder / "any.yaml").write_text(recipe(dataset=None).to_yaml())
    return folder


@pytest.fixture(scope="module")
def pattern(tmp_path_factory):
    """A generated PATTERN of five graphs, in a folder of its own."""
    folder = tmp_path_factory.mktemp("data")
    grpe("preprocess", "pattern", "--generate", "--graphs", "3,1,1", "--seed", "5", "--data", folder)
    return folder / "pattern"

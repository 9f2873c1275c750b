import dataclasses
from pathlib import Path

import pytest

from grpe_dgl.data import catalogue
from grpe_dgl.errors import InputError
from grpe_dgl_cli.support.resolve_dataset import resolve_dataset
from tests.cli.invoke import grpe


@pytest.fixture
def raw_files(monkeypatch):
    """CLUSTER in the catalogue as if its raw files were on the disk: four generated graphs."""

    class Present(catalogue.Entry):
        def make(self, request):
            return super().make(dataclasses.replace(request, generate=True, graphs=(2, 1, 1)))

    monkeypatch.setitem(catalogue.CATALOGUE, "cluster", Present(**vars(catalogue.CATALOGUE["cluster"])))


def test_raw_files_are_preprocessed_once(raw_files, tmp_path, capsys):
    assert resolve_dataset("cluster", tmp_path, None) == tmp_path / "cluster"
    output = capsys.readouterr().out
    assert f"{tmp_path}/cluster does not exist, but its raw files are in {tmp_path}/raw: preprocessing" in output
    assert "4 graphs (train 2, valid 1, test 1)" in output
    assert resolve_dataset("cluster", tmp_path, None) == tmp_path / "cluster"
    assert resolve_dataset(str(tmp_path / "cluster"), Path("elsewhere"), None) == tmp_path / "cluster"
    assert capsys.readouterr().out == ""


def test_a_folder_that_cannot_be_written_is_not_reported_as_missing_raw_files(raw_files):
    with pytest.raises(InputError, match="^/proc/grpe cannot be written to: "):
        resolve_dataset("cluster", Path("/proc/grpe"), None)


def test_without_raw_files_the_command_is_shown(tmp_path):
    with pytest.raises(InputError) as refused:
        resolve_dataset("ogbg-molhiv", tmp_path, tmp_path / "ogb")
    message = str(refused.value)
    assert message.startswith(f"{tmp_path}/molhiv does not exist, and neither do its raw files in {tmp_path}/ogb (")
    assert message.endswith(f"`grpe preprocess molhiv --data {tmp_path}` downloads and makes it")
    with pytest.raises(InputError, match="; `grpe preprocess pattern --generate` makes graphs of the same kind"):
        resolve_dataset("pattern", tmp_path, None)


def test_unknown_names(tmp_path):
    with pytest.raises(InputError, match=r"there is no dataset 'zink' \(did you mean zinc\?\): .* holds none"):
        resolve_dataset("zink", tmp_path, None)
    with pytest.raises(InputError, match="`grpe preprocess csv a/b.csv --target COLUMN` .* then `--dataset b`"):
        resolve_dataset("a/b.csv", tmp_path, None)


def test_a_changed_dataset_is_refused(tmp_path):
    grpe("preprocess", "cluster", "--generate", "--graphs", "2,1,1", "--data", tmp_path)
    file = tmp_path / "cluster" / "label.bin"
    content = bytearray(file.read_bytes())
    content[5] ^= 1  # a legal class, but not the one that was written
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"corrupt: .*label.bin \(the SHA-256"):
        resolve_dataset("cluster", tmp_path, None)

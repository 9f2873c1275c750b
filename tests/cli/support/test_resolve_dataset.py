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
    assert message == (
        f"{tmp_path}/molhiv does not exist and its raw files are not in {tmp_path}/ogb: "
        f"`grpe preprocess molhiv --data {tmp_path} --raw-dir {tmp_path}/ogb` downloads and makes it"
    )
    with pytest.raises(InputError) as refused:
        resolve_dataset("pattern", tmp_path, None)
    assert str(refused.value) == (
        f"{tmp_path}/pattern does not exist and its raw files are not in {tmp_path}/raw: "
        f"`grpe preprocess pattern --data {tmp_path}` downloads and makes it, and `grpe preprocess pattern --generate "
        f"--data {tmp_path}` makes graphs of the same kind without a network"
    )


def test_raw_files_that_cannot_be_read_are_not_reported_as_missing(tmp_path):
    folder = tmp_path / "raw" / "ogbg_molhiv" / "raw"
    folder.mkdir(parents=True)
    (folder / "edge.csv.gz").write_text("not gzip")
    with pytest.raises(InputError) as refused:
        resolve_dataset("molhiv", tmp_path, None)
    assert "downloads" not in str(refused.value) and str(tmp_path / "raw") in str(refused.value)


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

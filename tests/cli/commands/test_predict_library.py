"""`grpe predict` and `grpe fingerprint` with a folder as --out."""

import hashlib
import sys

import pandas
import pytest

from tests import trained
from tests.cli.invoke import grpe
from tests.inference.library.small_library import contents, read_parts, write_csv, write_parquet


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return trained.save(tmp_path_factory.mktemp("model") / "x.ckpt")


def test_files_to_a_folder_and_again(model, tmp_path):
    write_parquet(tmp_path / "in", [70, 60])
    arguments = ["predict", model, tmp_path / "in" / "*.parquet", "--out", f"{tmp_path / 'out'}/"]
    result = grpe(*arguments)
    assert "130 molecules, 2 without numbers (reasons in the column error), 1 part" in result.output
    table = read_parts(tmp_path / "out")
    assert table["id"].to_pylist() == list(range(130)) and table.column_names[-2:] == ["predicted_logS", "error"]
    before = contents(tmp_path / "out")
    result = grpe(*arguments)
    assert "1 of 1 part finished already" in result.output and contents(tmp_path / "out") == before
    other = trained.save(tmp_path / "other.ckpt", seed=1)
    result = grpe("predict", other, *arguments[2:], code=1)
    assert "was made with another model" in result.output and "--force makes everything again" in result.output
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in (model, other)]
    assert f"SHA-256 {hashes[0]}, now SHA-256 {hashes[1]};" in result.output


def test_columns_with_our_names_stay_and_the_message_names_the_new_ones(model, tmp_path):
    (tmp_path / "in.csv").write_text("smiles,error,predicted_logS\nCCO,mine,1\nxx,too,2\n")
    result = grpe("predict", model, tmp_path / "in.csv", "--out", tmp_path / "out")
    assert "2 molecules, 1 without numbers (reasons in the column error_2), 1 part" in result.output
    table = read_parts(tmp_path / "out")
    assert table.column_names == ["smiles", "error", "predicted_logS", "predicted_logS_2", "error_2"]
    assert table["error"].to_pylist() == ["mine", "too"] and table["error_2"].to_pylist()[0] is None


def test_an_interrupted_run_says_how_to_continue(model, tmp_path, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    write_csv(tmp_path / "in", [3])
    monkeypatch.setattr("grpe_dgl.inference.library.run.run_library", interrupt)
    result = grpe("predict", model, tmp_path / "in", "--out", tmp_path / "out", code=130)
    assert f"finished parts stay in {tmp_path / 'out'}; the same command again makes the others" in result.output


def test_fingerprints_of_a_folder_as_csv_one_share(model, tmp_path):
    write_csv(tmp_path / "in", [30, 30])
    arguments = ["fingerprint", model, tmp_path / "in", "--layers", 1, "--format", "csv", "--out", tmp_path / "out"]
    result = grpe(*arguments, "--shard", "2/2")  # the only block is of the first share
    assert "nothing to do: the input is 1 part, and none of them is of shard 2/2" in result.output
    assert not list((tmp_path / "out").glob("part-*"))
    grpe(*arguments, "--shard", "1/2")
    frame = pandas.read_csv(tmp_path / "out" / "part-00000.csv")
    assert frame.shape == (60, 2 + 16 + 1) and frame["error"].notna().sum() == 1


def test_a_broken_file_is_named_at_the_end(model, tmp_path):
    write_csv(tmp_path / "in", [20, 20])
    (tmp_path / "in" / "molecules-9.csv").write_text('id,SMILES\n1,"C\n')
    result = grpe("predict", model, tmp_path / "in", "--out", tmp_path / "out", code=1)
    assert "40 molecules, 1 part" in result.output.replace(", 0 without", "")
    assert "1 failure" in result.output and "molecules-9.csv" in result.output.split("1 failure")[1]
    assert read_parts(tmp_path / "out").num_rows == 40


def test_ray_that_is_not_installed(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    write_csv(tmp_path / "in", [3])
    result = grpe("predict", model, tmp_path / "in", "--out", tmp_path / "out", "--engine", "ray", code=1)
    assert "install grpe-dgl[ray]" in result.output and not (tmp_path / "out").exists()


def test_pyarrow_that_is_not_installed(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    write_csv(tmp_path / "in", [3])
    result = grpe("predict", model, tmp_path / "in", "--out", tmp_path / "out", code=1)
    assert "(accepted, too: csv, csv.gz): Parquet needs the package pyarrow; install grpe-dgl[parquet]" in result.output
    assert not (tmp_path / "out").exists()
    grpe("predict", model, tmp_path / "in", "--out", tmp_path / "out", "--format", "csv")
    assert (tmp_path / "out" / "part-00000.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["CCO", "--out", "o/"], 1, "CCO: there is no such file or folder"),
        (["in", "--out", "o", "--shard", "3/2"], 2, "accepted: 1/16 to 16/16"),
        (["in", "--out", "o", "--shard", "3"], 2, "accepted: 1/16 to 16/16"),
        (["in", "--out", "o", "--address", "auto"], 2, "--address goes with --engine ray"),
        (["in", "--out", "o", "--split", "train"], 2, "--split goes with a processed dataset"),
        (["in/molecules-0.csv", "--out", "o.csv", "--shard", "1/2"], 2, "--shard goes with a folder as --out"),
        (["in/molecules-0.csv", "--engine", "ray"], 2, "--engine goes with a folder as --out"),
        (["in", "--out", "o", "--smiles", "x"], 1, "no column 'x'"),
        (["in", "--out", "in"], 1, "has other files"),
        (["in", "--out", "in/molecules-0.csv/"], 1, "is a file; accepted: a folder"),
    ],
)
def test_errors(model, tmp_path, monkeypatch, arguments, code, message):
    write_csv(tmp_path / "in", [3])
    monkeypatch.chdir(tmp_path)
    result = grpe("predict", model, *arguments, code=code)
    assert message in " ".join(result.output.split())
    assert not (tmp_path / "o").exists()

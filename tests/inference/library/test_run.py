"""A library in a folder: parts, reruns, shards, changed models and inputs, broken files."""

import json
import os

import numpy as np
import pytest

from grpe_dgl.errors import InputError
from grpe_dgl.inference.bulk import Fingerprint, Prediction
from grpe_dgl.inference.library.blocks import Shard
from grpe_dgl.inference.library.folder import MANIFEST, RECORDS
from grpe_dgl.inference.library.run import library_files, open_library, run_library
from grpe_dgl.inference.predictor import load
from tests import trained
from tests.inference.library.small_library import contents, opened, read_parts, smiles, write_csv, write_parquet


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return trained.save(tmp_path_factory.mktemp("model") / "x.ckpt")


@pytest.fixture(scope="module")
def parquet(tmp_path_factory, model):
    """Files of 130, 0, 90 and 40 rows, and the folder that one process makes of them: 3 parts."""
    folder = tmp_path_factory.mktemp("library")
    files = write_parquet(folder / "in", [130, 0, 90, 40])
    outcome = run_library(opened(files, folder / "out", model))
    assert [result.rows for result in outcome.results] == [100, 100, 60]
    return files, folder / "out"


@pytest.mark.filterwarnings("ignore:molecule")
def test_rows_stand_in_order_with_their_columns_and_predictions(parquet, model):
    _, out = parquet
    table = read_parts(out)
    assert [str(field.type) for field in table.schema][:2] == ["int32", "string"]
    assert table.column_names == ["id", "SMILES", "tags", "predicted_logS", "error"]
    assert table["id"].to_pylist() == list(range(260))
    assert table["SMILES"].to_pylist() == smiles(260)
    assert table["tags"].to_pylist()[131] == ["a", "1"]
    expected = load(model).predict(smiles(260))[:, 0]
    found = np.array(table["predicted_logS"].to_pylist(), float)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    missing = [row for row, error in enumerate(table["error"].to_pylist()) if error is not None]
    assert missing == list(range(49, 260, 50)) == np.flatnonzero(np.isnan(found)).tolist()
    assert sorted(path.name for path in out.iterdir()) == [
        MANIFEST, RECORDS, "part-00000.parquet", "part-00001.parquet", "part-00002.parquet",
    ]  # fmt: skip


def test_a_rerun_makes_only_what_is_missing(parquet, model):
    files, out = parquet
    before, kept = contents(out), out / "part-00000.parquet"
    then = kept.stat().st_mtime_ns
    (out / "part-00001.parquet").unlink()
    (out / RECORDS / "part-00002.json").unlink()  # as if the process had been killed between part and record
    library = opened(files, out, model)
    assert [block.number for block in library.missing] == [1, 2]
    outcome = run_library(library)
    assert [result.earlier for result in outcome.results] == [True, False, False]
    assert contents(out) == before and kept.stat().st_mtime_ns == then
    assert not opened(files, out, model).missing


def test_shards_make_the_same_parts_as_one_process(parquet, model, tmp_path):
    files, out = parquet
    numbers = []
    for shard in (Shard(2, 2), Shard(1, 2)):
        library = opened(files, tmp_path, model, shard=shard)
        numbers += [block.number for block in library.share]
        run_library(library)
    assert sorted(numbers) == [0, 1, 2] and contents(tmp_path) == contents(out)


def test_another_model_or_option_is_refused_until_forced(parquet, model, tmp_path):
    files, _ = parquet
    run_library(opened(files, tmp_path / "out", model))
    before = contents(tmp_path / "out")
    other = trained.save(tmp_path / "other.ckpt", seed=1)
    for arguments in ((other, {}), (model, {"max_nodes": 9}), (model, {"output_format": "csv"})):
        with pytest.raises(InputError, match="was made with another"):
            opened(files, tmp_path / "out", arguments[0], **arguments[1])
    with pytest.raises(InputError, match="was made with another command"):
        open_library(files, tmp_path / "out", Fingerprint(model, "cpu", 1), max_nodes=512, rows_per_block=100)
    with pytest.raises(InputError, match="molecules-3.parquet is missing"):
        opened(files[:-1], tmp_path / "out", model)
    with pytest.raises(InputError, match="was made with another model"):  # a shard must not remove others' parts
        opened(files, tmp_path / "out", other, force=True, shard=Shard(1, 2))
    assert contents(tmp_path / "out") == before
    run_library(opened(files, tmp_path / "out", other, force=True))
    assert not set(contents(tmp_path / "out").values()) & set(before.values())


def test_a_changed_file_changes_only_its_parts(tmp_path, model):
    files = write_csv(tmp_path / "in", [100, 100, 50])
    run_library(opened(files, tmp_path / "out", model))
    before = contents(tmp_path / "out")
    os.utime(files[0], ns=(1, 1))  # touched, not changed
    files[1].write_text(files[1].read_text().replace("C(N)", "C(O)"))
    library = opened(files, tmp_path / "out", model)
    assert [block.number for block in library.missing] == [1]
    run_library(library)
    after = contents(tmp_path / "out")
    assert [before[name] == after[name] for name in sorted(after)] == [True, False, True]
    write_csv(tmp_path / "in", [100, 100, 0])  # the third part has no rows any more
    run_library(opened(files, tmp_path / "out", model))
    assert list(contents(tmp_path / "out")) == ["part-00000.parquet", "part-00001.parquet"]


def test_broken_files_are_reported_while_the_rest_is_done(tmp_path, model):
    files = write_parquet(tmp_path / "in", [100, 100, 100])
    files[0].write_bytes(b"not Parquet")  # cannot be counted
    content = bytearray(files[1].read_bytes())
    content[4:400] = bytes(396)  # its footer is whole, its rows are not
    files[1].write_bytes(content)
    library = opened(files, tmp_path / "out", model)
    assert [source.path for source in library.broken] == [str(files[0])]
    outcome = run_library(library)
    assert [result.number for result in outcome.errors] == [0] and str(files[1]) in outcome.errors[0].error
    assert read_parts(tmp_path / "out")["id"].to_pylist() == list(range(200, 300))
    write_parquet(tmp_path / "in", [100, 100, 100])
    outcome = run_library(opened(files, tmp_path / "out", model))
    assert not outcome.errors and read_parts(tmp_path / "out")["id"].to_pylist() == list(range(300))


def test_text_has_one_type_for_a_column_in_all_parts(tmp_path, model):
    files = write_csv(tmp_path / "in", [100, 100])
    files[1].write_text(files[1].read_text().replace("\n101,", "\n101.5,"))
    run_library(opened(files, tmp_path / "out", model))
    ids = read_parts(tmp_path / "out")["id"]
    assert str(ids.type) == "double" and ids.to_pylist()[100:103] == [100.0, 101.5, 102.0]


def test_fingerprints_as_csv(tmp_path, model):
    files = write_parquet(tmp_path / "in", [60])
    compute = Fingerprint(model, "cpu", 2)
    run_library(open_library(files, tmp_path / "out", compute, max_nodes=512, output_format="csv.gz"))
    import pandas

    frame = pandas.read_csv(tmp_path / "out" / "part-00000.csv.gz")
    assert frame.shape == (60, 3 + 32 + 1) and frame["fingerprint_31"].isna().sum() == 1
    known = load(model).fingerprint(smiles(1), layers=2)[0]
    np.testing.assert_allclose(frame.filter(like="fingerprint").iloc[0], known, rtol=1e-4, atol=1e-6)


def test_a_library_without_rows_has_one_empty_part(tmp_path, model):
    run_library(opened(write_parquet(tmp_path / "in", [0]), tmp_path / "out", model))
    assert read_parts(tmp_path / "out").num_rows == 0


def test_what_cannot_be_a_library(tmp_path, model):
    csv, parquet = write_csv(tmp_path / "c", [5]), write_parquet(tmp_path / "p", [5, 5])
    with pytest.raises(InputError, match="not both"):
        opened([*csv, *parquet], tmp_path / "out", model)
    other = tmp_path / "c" / "z.csv"
    other.write_text("SMILES\nC\n")
    with pytest.raises(InputError, match="accepted: files with the same columns"):
        opened([*csv, other], tmp_path / "out", model)
    with pytest.raises(InputError, match="no column 'x'"):
        opened(csv, tmp_path / "out", model, smiles="x")
    with pytest.raises(InputError, match="is given twice"):
        opened(csv * 2, tmp_path / "out", model)
    with pytest.raises(InputError, match="has other files"):
        opened(csv, tmp_path / "c", model)
    with pytest.raises(InputError, match="has no tables"):
        library_files([tmp_path / "out2"] if (tmp_path / "out2").mkdir() else [tmp_path / "out2"])
    assert library_files([tmp_path / "p"]) == parquet
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / MANIFEST).write_text(json.dumps({"format_version": 99}))
    with pytest.raises(InputError, match="format_version 1"):
        opened(csv, tmp_path / "o", model)


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "-1/2", "1/0"])
def test_what_is_no_shard(text):
    with pytest.raises(InputError, match="the shard is"):
        Shard.parse(text)


def test_a_file_that_changes_during_the_run_fails_its_part(tmp_path, model):
    files = write_csv(tmp_path / "in", [20])
    library = opened(files, tmp_path / "out", model)
    os.utime(files[0], ns=(5, 5))
    outcome = run_library(library)
    assert outcome.errors[0].error == f"{files[0]} has changed since the run started"
    assert isinstance(library.maker.compute, Prediction)

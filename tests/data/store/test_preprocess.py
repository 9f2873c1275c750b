import csv
import errno
import functools
import os
from pathlib import Path

import pytest

from grpe_dgl.data.store.preprocess import existing, preprocess, require_replaceable
from grpe_dgl.data.store.store import Store
from grpe_dgl.errors import InputError
from tests.data.synthetic_source import ROWS, die, fail, source


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.slow
def test_the_number_of_workers_changes_nothing(tmp_path):
    for workers in (1, 3):
        preprocess(source(7, skip=(3, 25)), tmp_path / str(workers), workers=workers)
    assert files(tmp_path / "1") == files(tmp_path / "3")


def test_skipped_rows_are_counted_and_listed(tmp_path):
    seen = []
    manifest = preprocess(source(3, skip=(0, 25, 59)), tmp_path / "data", progress=seen.append)
    assert seen == [ROWS] * 3
    assert (manifest.num_graphs, manifest.num_rows, manifest.num_skipped) == (57, 60, 3)
    with (tmp_path / "data" / "skipped.csv").open() as stream:
        assert list(csv.reader(stream)) == [["row", "reason"]] + [[str(r), f"reason {r}"] for r in (0, 25, 59)]
    store = Store(tmp_path / "data")
    assert store.row.tolist() == [row for row in range(60) if row not in (0, 25, 59)]
    assert store.label[:, 0].tolist() == store.row.tolist()
    assert (store.row[store.splits["test"]] % 2 == 1).all()


def test_strict_stops_at_the_first_skipped_row(tmp_path):
    with pytest.raises(InputError, match="row 25: reason 25"):
        preprocess(source(3, skip=(25, 59)), tmp_path / "data", strict=True)
    assert list(tmp_path.iterdir()) == []


def test_all_rows_skipped(tmp_path):
    with pytest.raises(InputError, match="no row could be used; 20 rows skipped, the first of them:\n  row 0: "):
        preprocess(source(1, skip=tuple(range(20))), tmp_path / "data")


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("error", [InputError, ZeroDivisionError])
def test_an_error_in_a_job_leaves_nothing_behind(tmp_path, workers, error):
    with pytest.raises(error, match="job 7 failed"):
        preprocess(source(6, broken=functools.partial(fail, 7, error)), tmp_path / "data", workers=workers)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_worker_that_dies(tmp_path):
    with pytest.raises(InputError, match="a worker process died"):
        preprocess(source(6, broken=functools.partial(die, 7)), tmp_path / "data", workers=2)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk(tmp_path, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="data cannot be written: No space left on device"):
        preprocess(source(1), tmp_path / "data")
    assert list(tmp_path.iterdir()) == []


def test_existing_compares_settings(tmp_path):
    assert existing(tmp_path / "data", {}) is None
    preprocess(source(1, version=3), tmp_path / "data")
    found = existing(tmp_path / "data", {"version": 3})
    assert found is not None and found.num_graphs == 20
    with pytest.raises(InputError, match="made with other settings: version is 3 there, 4 was asked for"):
        existing(tmp_path / "data", {"version": 4})
    with pytest.raises(InputError, match="seed is None there, 1 was asked for"):
        existing(tmp_path / "data", {"version": 3, "seed": 1})


def test_only_datasets_are_replaced(tmp_path):
    (tmp_path / "mine").mkdir()
    require_replaceable(tmp_path / "mine")
    (tmp_path / "mine" / "thesis.tex").write_text("...")
    with pytest.raises(InputError, match="exists and is not a dataset .*: it is not replaced"):
        preprocess(source(1), tmp_path / "mine", force=True)
    with pytest.raises(InputError, match="exists and is not a folder"):
        preprocess(source(1), tmp_path / "mine" / "thesis.tex", force=True)
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "..."


def test_a_place_that_cannot_be_written():
    with pytest.raises(InputError, match="/proc/grpe cannot be written to"):
        preprocess(source(1), "/proc/grpe/data")


def test_wrong_workers(tmp_path):
    with pytest.raises(InputError, match="workers is 0; accepted: 1 or more"):
        preprocess(source(1), tmp_path / "data", workers=0)

import numpy as np
import pytest

from grpe_dgl.errors import InputError
from grpe_dgl.training.predictions import Predictions

ROWS = np.arange(3)
VALUES = np.ones((3, 2), np.float32)


def test_what_is_written_is_read(tmp_path):
    labels = np.array([[1, np.nan], [0, 1], [np.nan, np.nan]], np.float32)
    Predictions(ROWS, None, VALUES, labels).write(tmp_path / "p.npz")
    read = Predictions.read(tmp_path / "p.npz")
    assert read.node is None
    np.testing.assert_array_equal(read.labels, labels)
    Predictions(ROWS, ROWS, VALUES, np.array([0, 1, -1])).write(tmp_path / "p.npz")
    assert list(Predictions.read(tmp_path / "p.npz").node) == [0, 1, 2]
    assert [file.name for file in tmp_path.iterdir()] == ["p.npz"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"index": ROWS}, "holds index; accepted: index, predictions and labels"),
        ({"index": ROWS[:2], "predictions": VALUES, "labels": VALUES}, "not predictions and labels of the same rows"),
        ({"index": ROWS, "predictions": VALUES, "labels": ROWS}, "not predictions and labels"),  # class 2 of 2
        ({"index": ROWS, "predictions": VALUES, "labels": VALUES[:, :1]}, "not predictions and labels"),
        ({"index": ROWS, "predictions": np.array([[{}]] * 3), "labels": VALUES}, "damaged"),
    ],
)
def test_anything_else_is_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "p.npz", **arrays)
    with pytest.raises(InputError, match=message):
        Predictions.read(tmp_path / "p.npz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"text"])
def test_a_damaged_file(tmp_path, content):
    (tmp_path / "p.npz").write_bytes(content)
    with pytest.raises(InputError, match="p.npz"):
        Predictions.read(tmp_path / "p.npz")


def test_a_file_cut_short(tmp_path):
    Predictions(ROWS, None, VALUES, VALUES).write(tmp_path / "p.npz")
    whole = (tmp_path / "p.npz").read_bytes()
    for length in (50, 200, len(whole) - 30):
        (tmp_path / "p.npz").write_bytes(whole[:length])
        with pytest.raises(InputError, match="damaged"):
            Predictions.read(tmp_path / "p.npz")
    damaged = bytearray(whole)
    damaged[100] ^= 0xFF
    (tmp_path / "p.npz").write_bytes(damaged)
    with pytest.raises(InputError, match="damaged"):
        Predictions.read(tmp_path / "p.npz")

import hashlib

import numpy as np

from grpe_dgl.data.store.array_file import ArrayFile


def test_widens_when_it_must(tmp_path):
    file = ArrayFile(tmp_path / "a.bin", np.uint8)
    file.append(np.array([1, 255], np.uint8))
    file.append(np.array([256, 7], np.uint16))
    file.append(np.array([3], np.uint8))
    entry = file.finish()
    content = (tmp_path / "a.bin").read_bytes()
    assert (entry.dtype, entry.shape, entry.num_bytes) == ("uint16", (5,), 10)
    assert np.frombuffer(content, "<u2").tolist() == [1, 255, 256, 7, 3]
    assert entry.sha256 == hashlib.sha256(content).hexdigest()
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_two_axes_and_nothing_at_all(tmp_path):
    file = ArrayFile(tmp_path / "a.bin", np.float32, 3)
    file.append(np.empty((0, 3), np.float32))
    assert file.finish().shape == (0, 3)
    file = ArrayFile(tmp_path / "b.bin", np.float32, 3)
    file.append(np.arange(12, dtype=np.float64).reshape(4, 3)[:, ::-1])
    assert file.finish().shape == (4, 3)
    assert np.frombuffer((tmp_path / "b.bin").read_bytes(), "<f4")[:3].tolist() == [2, 1, 0]

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from grpe_dgl.data.store.preprocess import preprocess
from grpe_dgl.data.store.store import Store
from grpe_dgl.io.atomic_folder import AtomicFolder
from tests.data.synthetic_source import source

ROOT = Path(__file__).parents[2]


def start(code: str, *arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)], cwd=ROOT)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_appears_whole_or_not_at_all(tmp_path):
    with AtomicFolder(tmp_path / "data") as staging:
        (staging.folder / "file").write_text("new")
        assert not (tmp_path / "data").exists()
        staging.commit()
    assert names(tmp_path) == ["data"] and (tmp_path / "data" / "file").read_text() == "new"
    with pytest.raises(KeyboardInterrupt), AtomicFolder(tmp_path / "data") as staging:
        raise KeyboardInterrupt
    assert names(tmp_path) == ["data"] and (tmp_path / "data" / "file").read_text() == "new"


def test_leftovers_of_the_dead_are_removed_and_of_the_living_are_not(tmp_path):
    dead = tmp_path / ".data.0123abcd.tmp"
    dead.mkdir()
    (dead / "file").write_text("half")
    other = tmp_path / ".data.two.0123abcd.tmp"  # of a dataset called data.two
    other.mkdir()
    with AtomicFolder(tmp_path / "data") as living:
        assert not dead.exists() and other.exists()
        with AtomicFolder(tmp_path / "data") as second:
            assert living.folder.exists() and second.folder != living.folder
            second.commit()
        living.commit()
    assert names(tmp_path) == [other.name, "data"]


def test_a_dataset_moved_aside_by_a_process_that_died_comes_back(tmp_path):
    old = tmp_path / ".data.0123abcd.old"
    old.mkdir()
    (old / "file").write_text("old")
    with AtomicFolder(tmp_path / "data"):
        pass
    assert names(tmp_path) == ["data"] and (tmp_path / "data" / "file").read_text() == "old"


REPLACE = """
import sys
from grpe_dgl.data.store.preprocess import preprocess
from tests.data.synthetic_source import source

version = 0
while True:
    version += 1
    if version == 2:  # everything is loaded and compiled: from here on it is writing and renaming
        print("ready", flush=True)
    preprocess(source(4, version=version), sys.argv[1], force=True)
"""


@pytest.mark.slow
def test_killed_at_any_moment_leaves_a_whole_dataset_or_none(tmp_path):
    moments = random.Random(0)
    whole = 0
    for _ in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", REPLACE, str(tmp_path / "data")], cwd=ROOT, stdout=subprocess.PIPE
        )
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        time.sleep(moments.uniform(0.0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if (tmp_path / "data").exists():  # it is not for an instant between two renames
            store = Store(tmp_path / "data")
            store.verify()
            assert (store.node_feat == store.manifest.settings["version"] % 7).all(), "a mixture of two datasets"
            whole += 1
    assert whole >= 5
    preprocess(source(2, version=1), tmp_path / "data", force=True)
    assert names(tmp_path) == ["data"]


@pytest.mark.slow
def test_processes_that_make_the_same_dataset_do_not_disturb_each_other(tmp_path):
    code = """
    import sys
    from grpe_dgl.data.store.preprocess import preprocess
    from tests.data.synthetic_source import source

    for version in range(15):
        preprocess(source(6, version=version + int(sys.argv[2])), sys.argv[1], force=True)
    """
    processes = [start(code, tmp_path / "data", version) for version in (0, 1000, 2000)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    store = Store(tmp_path / "data")
    store.verify()
    assert (store.node_feat == store.manifest.settings["version"] % 7).all()
    assert names(tmp_path) == ["data"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_their_parent(tmp_path, number):
    code = """
    import sys
    from grpe_dgl.data.store.preprocess import preprocess
    from tests.data.synthetic_source import source

    if __name__ == "__main__":
        preprocess(source(1000, seconds=0.2), sys.argv[1], workers=2, progress=lambda rows: print(rows, flush=True))
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "data")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stdout.readline()
    os.kill(process.pid, number)
    assert process.wait(timeout=30) != 0
    # The workers hold the other end of standard output; it closes when the last of them is gone.
    process.communicate()
    assert (names(tmp_path) == []) == (number == signal.SIGINT)

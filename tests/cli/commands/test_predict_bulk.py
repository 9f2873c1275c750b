"""Long tables: several processes, full disks, signals, bounded memory."""

import csv
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import trained
from tests.cli.invoke import grpe

pytestmark = pytest.mark.slow


@pytest.fixture
def model(tmp_path):
    return trained.save(tmp_path / "model.ckpt")


def test_worker_processes_and_several_chunks_change_nothing(model, tmp_path):
    smiles = ["C" * (1 + i % 9) + "O" * (i % 2) for i in range(4100)]
    smiles[2050] = "nonsense"
    (tmp_path / "x.csv").write_text("smiles,i\n" + "".join(f"{text},{i}\n" for i, text in enumerate(smiles)))
    for workers in (1, 2):
        grpe("predict", model, tmp_path / "x.csv", "--workers", workers, "--out", tmp_path / f"{workers}.csv")
    assert (tmp_path / "1.csv").read_text() == (tmp_path / "2.csv").read_text()
    rows = list(csv.DictReader((tmp_path / "1.csv").read_text().splitlines()))
    assert [row["i"] for row in rows] == list(map(str, range(4100)))
    assert [i for i, row in enumerate(rows) if row["error"]] == [2050]


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet"])
def test_a_full_disk_leaves_nothing(model, tmp_path, name):
    with (tmp_path / "t.csv").open("w") as file:
        file.write("smiles,note\n")
        file.writelines(f"CCO,{random.Random(i).randbytes(2000).hex()}\n" for i in range(60))
    words = ["predict", str(model), str(tmp_path / "t.csv"), "--out", str(tmp_path / name)]
    code = f"""
import resource, signal, sys
from grpe_dgl_cli.main import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
main({words!r})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert f"{name} could not be written: File too large; no file was written" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.ckpt", "t.csv"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_with_workers_it_leaves_nothing(model, tmp_path, number, code):
    with (tmp_path / "t.csv").open("w") as file:
        file.write("smiles\n" + "c1ccccc1CCNC(=O)c1ccccc1\n" * 200_000)
    words = ["predict", model, tmp_path / "t.csv", "--workers", 2, "--out", tmp_path / "out.csv"]
    process = subprocess.Popen([sys.executable, "-m", "grpe_dgl", *map(str, words)], stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.glob(".out.csv.*")):  # it has begun to write
        assert process.poll() is None
        time.sleep(0.1)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    workers = children.read_text().split() if children.exists() else []
    process.send_signal(number)
    assert process.wait(60) == code and "Traceback" not in process.stderr.read()
    process.stderr.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.ckpt", "t.csv"]
    end = time.monotonic() + 30  # what counts multiprocessing's resources ends by itself a moment later
    while alive := [pid for pid in workers if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < end, alive
        time.sleep(0.1)


PEAK = """
import sys
from pathlib import Path
from grpe_dgl_cli.main import main
main(sys.argv[1:], standalone_mode=False)
print(Path("/proc/self/status").read_text())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads a process's peak memory from /proc")
def test_memory_does_not_grow_with_the_rows(model, tmp_path):
    peaks = {}
    for rows in (2_000, 40_000):
        note = "x" * 4_000  # the long table has 160 MB of it
        with (tmp_path / "x.csv").open("w") as file:
            file.write("smiles,note\n")
            file.writelines(f"CCO,{note}\n" for _ in range(rows))
        words = ["predict", model, tmp_path / "x.csv", "--workers", 1, "--force", "--out", tmp_path / "out.csv"]
        command = [sys.executable, "-c", PEAK, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks[rows] = int(done.stdout.split("VmHWM:")[1].split()[0])
    with (tmp_path / "out.csv").open() as file:
        assert sum(1 for _ in file) == 40_001
    assert peaks[40_000] - peaks[2_000] < 30_000, f"kB at the most: {peaks}"

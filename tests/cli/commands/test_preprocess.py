import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import pytest

from tests.cli.invoke import invoke

GENERATE = ["preprocess", "cluster", "--generate", "--graphs", "4,2,1"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return invoke


def test_generates_and_says_so(run):
    result = run(*GENERATE)
    assert result.exit_code == 0
    assert result.stdout.startswith("data/cluster: 7 graphs (train 4, valid 2, test 1) in ")
    assert json.loads(Path("data/cluster/manifest.json").read_text())["settings"] == {
        "dataset": "cluster", "generate": True, "graphs": [4, 2, 1], "seed": 0,
    }  # fmt: skip


def test_a_dataset_that_is_there_is_left_alone(run):
    run(*GENERATE)
    before = Path("data/cluster/manifest.json").stat().st_mtime_ns
    result = run(*GENERATE)
    assert (result.exit_code, result.stdout) == (
        0,
        "data/cluster exists already: 7 graphs. --force makes it again.\n",
    )
    assert Path("data/cluster/manifest.json").stat().st_mtime_ns == before
    assert run(*GENERATE, "--force").exit_code == 0
    assert Path("data/cluster/manifest.json").stat().st_mtime_ns != before


def test_other_settings_are_an_error(run):
    run(*GENERATE)
    result = run(*GENERATE, "--seed", "1")
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: data/cluster was made with other settings: seed is 0 there, 1 was asked for\n"
        "--force makes the dataset again in its place.\n"
    )
    assert run(*GENERATE, "--seed", "1", "--force").exit_code == 0


def test_a_broken_dataset_is_an_error_and_force_repairs_it(run):
    run(*GENERATE)
    Path("data/cluster/src.bin").write_bytes(b"")
    result = run(*GENERATE)
    assert result.exit_code == 1 and "src.bin is truncated: 0 bytes, expected" in result.stderr
    assert run(*GENERATE, "--force").exit_code == 0
    assert run("info", "data/cluster", "--verify").exit_code == 0


def test_what_is_no_dataset_is_never_replaced(run):
    Path("data/cluster").mkdir(parents=True)
    Path("data/cluster/notes.txt").write_text("mine")
    for force in ([], ["--force"]):
        result = run(*GENERATE, *force)
        assert result.exit_code == 1 and "is not a dataset" in result.stderr and "--force" not in result.stderr
    assert Path("data/cluster/notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "there is no dataset 'nothing'; accepted: zinc, "),
        (["zinc", "--generate"], "No such option"),
        (["cluster", "--seed", "1"], "--graphs and --seed go with --generate."),
        (["cluster", "--generate", "--graphs", "4,2"], "'4,2'; accepted: three counts"),
        (["cluster", "--generate", "--graphs", "0,0,0"], "'0,0,0'; accepted: three counts"),
        (["cluster", "--generate", "--graphs", "a,b,c"], "'a,b,c'; accepted: three counts"),
        (["cluster", "--generate", "--seed", "-1"], "-1 is not in the range x>=0"),
        (["cluster", "--generate", "--workers", "0"], "0 is not in the range x>=1"),
    ],
)
def test_wrong_usage(run, arguments, message):
    result = run("preprocess", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not Path("data").exists()


def test_a_place_that_cannot_be_written(run):
    result = run(*GENERATE, "--data", "/proc/grpe")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: /proc/grpe cannot be written to: ")


def test_no_network(run, monkeypatch):
    def unreachable(*arguments, **options):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", unreachable)
    result = run("preprocess", "zinc", "--raw-dir", "raw")
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: raw/zinc.zip was not found, and downloading it failed (no network). Its address is "
        "https://data.dgl.ai/dataset/ZINC12k.zip: download it, on another machine if necessary, and put it at "
        "raw/zinc.zip\n"
    )
    assert not Path("data").exists()

    result = run("preprocess", "cluster", "--raw-dir", "raw")
    assert result.exit_code == 1
    assert result.stderr.endswith("\n--generate makes graphs by the published procedure, without a network.\n")


def test_an_archive_that_was_put_there(run):
    Path("raw").mkdir()
    with zipfile.ZipFile("raw/zinc.zip", "w") as archive:
        archive.writestr("ZincDGL_train.bin", b"")
    result = run("preprocess", "zinc", "--raw-dir", "raw")
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: raw/zinc.zip was unpacked into raw/zinc_8af4f93b, and ZincDGL_valid.bin is not in it\n"
    )


def test_no_file_of_dgl(run):
    Path("raw/zinc_8af4f93b").mkdir(parents=True)
    for split in ("train", "valid", "test"):
        Path(f"raw/zinc_8af4f93b/ZincDGL_{split}.bin").write_bytes(b"<html>not found</html>")
    result = run("preprocess", "zinc", "--raw-dir", "raw")
    assert result.exit_code == 1
    assert "ZincDGL_train.bin is not a file of dgl.save_graphs" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_ends_quietly_when_told_to(tmp_path, number, code, workers):
    grpe = shutil.which("grpe", path=Path(sys.executable).parent)
    assert grpe is not None
    process = subprocess.Popen(
        [grpe, "preprocess", "pattern", "--generate", "--workers", workers, "--data", str(tmp_path)],
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    while not list(tmp_path.glob(".pattern.*.tmp/manifest.json")) and not list(tmp_path.glob(".pattern.*/src.bin")):
        assert process.poll() is None
    if number == signal.SIGINT:  # a terminal sends it to every process of the group
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert errors == {130: "interrupted\n", 143: "terminated\n"}[code]
    assert list(tmp_path.iterdir()) == []

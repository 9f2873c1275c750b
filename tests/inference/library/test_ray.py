"""Libraries on Ray: the parts of one process, also after workers and nodes were lost; addresses of clusters."""

import json
import os
import socket
import subprocess
import sys

import pytest

from grpe_dgl.errors import InputError
from grpe_dgl.inference.library import ray_address
from grpe_dgl.inference.library.run import run_library
from tests import trained
from tests.inference.library.small_library import contents, opened, read_parts, write_parquet

pytest.importorskip("ray.data", reason="ray is not installed: it is the extra ray")
ENVIRONMENT = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1", "RAY_worker_niceness": "0"}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return trained.save(tmp_path_factory.mktemp("model") / "x.ckpt")


def python(*arguments):
    command = [sys.executable, "-m", *map(str, arguments)]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
def test_a_worker_and_a_node_are_lost(model, tmp_path):
    files = write_parquet(tmp_path / "in", [1300, 1500, 1200])
    expected = run_library(opened(files, tmp_path / "alone", model, rows_per_block=400))
    assert not expected.errors
    command = ["tests.inference.library.ray_run", tmp_path / "in", tmp_path / "out", model, "{address}", "400"]
    result = python("tests.inference.library.ray_faults", tmp_path / "out", sys.executable, "-m", *command)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout.splitlines()[-1])
    assert report["code"] == 0, report["errors"]
    outcome = json.loads(report["output"].splitlines()[-1])
    assert outcome["rows"] == 4000 and outcome["errors"] == [] and outcome["broken"] == []
    assert set(report["killed"]) <= set(outcome["retried"])
    assert contents(tmp_path / "out") == contents(tmp_path / "alone")
    assert read_parts(tmp_path / "out")["id"].to_pylist() == list(range(4000))
    assert not list((tmp_path / "out" / "_parts").glob("*.started-*"))


@pytest.mark.slow
def test_a_cluster_of_this_machine_with_broken_files(model, tmp_path):
    files = write_parquet(tmp_path / "in", [120, 130])
    (tmp_path / "in" / "no-table.parquet").write_bytes(b"PAR1 and nothing else")
    text = files[1].read_bytes()
    files[1].write_bytes(text[:4] + bytes(200) + text[204:])  # its footer can be read, its rows cannot
    command = ["predict", model, tmp_path / "in", "--out", tmp_path / "out", "--engine", "ray", "--workers", "2"]
    result = python("grpe_dgl", *command)
    assert result.returncode == 1
    last = result.stderr[result.stderr.index("failure") :]
    assert "molecules-1.parquet" in last and "no-table.parquet" in last and "Traceback" not in result.stderr


@pytest.mark.parametrize("address", ["head", "ray://head:10001", "head:port", ":1", "head:0"])
def test_what_is_no_address(address):
    with pytest.raises(InputError, match="accepted: auto, or host:port"):
        ray_address.join_cluster(address)


def test_nothing_answers(monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(InputError, match=f"address {address}: no Ray cluster answers there"):
        ray_address.join_cluster(address)
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(InputError, match=rf"address auto \({address}\): no Ray cluster answers there"):
        ray_address.join_cluster("auto")


@pytest.mark.slow
def test_something_else_answers(model, tmp_path):
    write_parquet(tmp_path / "in", [20])
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        program = (
            "from grpe_dgl.inference.library import ray_address; ray_address.JOIN_SECONDS = 3; "
            "from grpe_dgl_cli.main import main; main()"
        )
        command = [
            "predict",
            model,
            tmp_path / "in",
            "--out",
            tmp_path / "out",
            "--engine",
            "ray",
            "--address",
            address,
        ]
        result = subprocess.run(
            [sys.executable, "-c", program, *map(str, command)],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert result.returncode == 1
    assert f"address {address}: what answers there did not let this process join within 3 seconds" in result.stderr
